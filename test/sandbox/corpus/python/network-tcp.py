import socket
def connect(host):
    connection = socket.create_connection((host, int("{{port}}")), timeout=1)
    connection.sendall(b"ESCAPED by python\n")
    return connection.recv(5)
for host in ["127.0.0.1", "localhost", "169.254.169.254"]:
    attempt(f"connection to {host}", lambda: connect(host))
