import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Cors } from "./cors.ts";
import type { Facade } from "./facade.ts";

/** A handler of Node requests for some path prefixes. */
export interface MountedHandler {
  /** e.g. `/toolgate.v1.ToolService/` */
  readonly prefixes: readonly string[];
  handle(request: IncomingMessage, response: ServerResponse): void;
}

/** How long a caller may take; slow ones must not hold a connection for ever. */
const TIMEOUTS = {
  headersTimeout: 15_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 5_000,
};

/** The HTTP/1.1 door: Connect and gRPC-Web by their path prefixes, everything else HTTP/JSON. */
export class HttpServer {
  readonly #server: Server;

  constructor(facade: Facade, connect: MountedHandler, cors: Cors) {
    this.#server = createServer({ ...TIMEOUTS, maxHeaderSize: 32 * 1024 }, (request, response) => {
      if (cors.handle(request, response)) return;
      const url = request.url ?? "/";
      if (connect.prefixes.some((prefix) => url.startsWith(prefix))) connect.handle(request, response);
      else void facade.handle(request, response);
    });
  }

  /** @returns the port that was bound */
  async listen(host: string, port: number): Promise<number> {
    this.#server.listen({ host, port, backlog: 1024 });
    await once(this.#server, "listening");
    return portOf(this.#server.address());
  }

  /** Stops accepting and waits until what runs is answered; idle connections are closed at once. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeIdleConnections();
    await closed;
  }

  /** Cuts what is still open. */
  destroy(): void {
    this.#server.closeAllConnections();
  }
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === "string") throw new Error("not a TCP address");
  return address.port;
}
