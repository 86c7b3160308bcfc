import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { DocumentDoor } from "../documents/document-door.ts";
import type { Cors } from "./cors.ts";
import type { Facade } from "./facade.ts";
import { originForm } from "./request-head.ts";
import { HEAD_LIMIT, readingError } from "./unreadable.ts";

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

const OPTIONS = { ...TIMEOUTS, maxHeaderSize: HEAD_LIMIT, joinDuplicateHeaders: true, requireHostHeader: false };

/** What is behind the HTTP/1.1 door. */
export interface HttpServerParts {
  readonly documents: DocumentDoor;
  /** Has rules of its own about who may call from a page. */
  readonly console: MountedHandler;
  readonly cors: Cors;
  readonly connect: MountedHandler;
  readonly facade: Facade;
}

/** The HTTP/1.1 door: documents by their paths, console, Connect and gRPC-Web by their path prefixes, everything else HTTP/JSON. */
export class HttpServer {
  readonly #server: Server;
  /** What each open connection is answering right now, or answered last. */
  readonly #answering = new Map<Duplex, ServerResponse>();

  constructor({ documents, console, cors, connect, facade }: HttpServerParts) {
    const handle = (request: IncomingMessage, response: ServerResponse) => {
      this.#answering.set(request.socket, response);
      if (!this.#server.listening) endAfter(response, request.socket);
      const url = originForm(request.url ?? "/");
      request.url = url;
      if (documents.handle(request, response)) return;
      if (isFor(console, url)) return console.handle(request, response);
      if (cors.handle(request, response)) return;
      if (isFor(connect, url)) connect.handle(request, response);
      else void facade.handle(request, response);
    };
    this.#server = createServer(OPTIONS, handle);
    this.#server.on("connection", (socket) => socket.once("close", () => this.#answering.delete(socket)));
    // A server may ignore an expectation that it does not know (RFC 9110 section 10.1.1).
    this.#server.on("checkExpectation", handle);
    this.#server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
      this.#refuse(socket, error.code, (code) => facade.refusal(readingError(code)));
    });
  }

  /** Ends a connection that cannot be read on. What was asked before is answered first: it may have been paid for. */
  #refuse(socket: Duplex, code: string | undefined, answer: (code: string | undefined) => string): void {
    const latest = this.#answering.get(socket);
    const pending = latest && !latest.writableFinished ? latest : undefined;
    if (pending?.req.complete) {
      if (pending.shouldKeepAlive) endAfter(pending, socket);
      pending.shouldKeepAlive = false;
    } else if (socket.writable && !pending?.headersSent) {
      socket.end(answer(code));
    } else {
      socket.destroy();
    }
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
    // Once nobody new is let in, a connection has had its last answer.
    for (const [socket, response] of this.#answering) if (!response.writableFinished) endAfter(response, socket);
    this.#server.closeIdleConnections();
    await closed;
  }

  /** Cuts what is still open. */
  destroy(): void {
    this.#server.closeAllConnections();
  }
}

function isFor({ prefixes }: MountedHandler, url: string): boolean {
  return prefixes.some((prefix) => url.startsWith(prefix));
}

/** Ends a connection with an answer, once that is out. */
function endAfter(response: ServerResponse, socket: Duplex): void {
  response.once("finish", () => socket.end());
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === "string") throw new Error("not a TCP address");
  return address.port;
}
