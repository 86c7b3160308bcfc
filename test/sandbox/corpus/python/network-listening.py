import socket
def listen():
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen()
    return None
attempt("a listener", listen)
