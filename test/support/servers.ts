import { once } from "node:events";
import { Server as HttpServer } from "node:http";
import type { Server } from "node:net";

/** Listens on 127.0.0.1, by default on a free port, and returns the port. */
export async function listen(server: Server, port = 0): Promise<number> {
  // On a busy machine 5 s pass between requests, and a client may take a connection as its server closes it.
  if (server instanceof HttpServer) server.keepAliveTimeout = 0;
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the server has no port");
  return address.port;
}

/** Closes a server; an HTTP server with its connections. */
export async function closeServer(server: Server): Promise<void> {
  if (server instanceof HttpServer) server.closeAllConnections();
  server.close();
  await once(server, "close");
}
