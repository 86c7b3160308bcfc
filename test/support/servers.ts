import { once } from "node:events";
import { Server as HttpServer } from "node:http";
import type { Server } from "node:net";

/** Listens on a free port of 127.0.0.1, and returns it. */
export async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
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
