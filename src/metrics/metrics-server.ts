import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Exposition } from "./prometheus-metrics.ts";

const CONNECTIONS = 32;

/** Returns the text for an Accept header; undefined when absent. */
type Expose = (accept: string | undefined) => Promise<Exposition>;

/** Serves `GET /metrics` on a separate port without authentication. */
export class MetricsServer {
  readonly #expose: Expose;
  readonly #server: Server;

  constructor(expose: Expose) {
    this.#expose = expose;
    this.#server = createServer((request, response) => void this.#answer(request, response));
    this.#server.maxConnections = CONNECTIONS;
  }

  /** @returns the port. @throws Error when it is unavailable */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, host, () => {
        this.#server.off("error", reject);
        const address = this.#server.address();
        resolve(typeof address === "object" && address !== null ? address.port : port);
      });
    });
  }

  /** Also resolves when it never listened. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path] = (request.url ?? "").split("?");
    if (path !== "/metrics") {
      response.writeHead(404).end();
    } else if (request.method !== "GET" && request.method !== "HEAD") {
      response.writeHead(405, { Allow: "GET, HEAD" }).end();
    } else {
      await this.#send(request.headers.accept, response);
    }
  }

  async #send(accept: string | undefined, response: ServerResponse): Promise<void> {
    try {
      const { contentType, text } = await this.#expose(accept);
      response.writeHead(200, { "Content-Type": contentType }).end(text);
    } catch {
      response.writeHead(500).end();
    }
  }
}
