import socket
attempt("a datagram", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"ESCAPED by python", ("127.0.0.1", int("{{port}}"))) and None)
