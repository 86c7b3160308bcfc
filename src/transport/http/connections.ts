import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { hasBody } from "./body.ts";
import { CONNECTION_LIMITS, type ConnectionLimits } from "./connection-limits.ts";
import { dispatcher, type HttpHandler } from "./dispatch.ts";
import type { ServerTls } from "../server-tls.ts";
import type { JsonRoutes } from "./json-routes.ts";
import { OpenResponses } from "./open-responses.ts";
import { HEAD_LIMIT, parseError } from "./parse-error.ts";

export interface HttpServerParts {
  /** In the order in which they are asked. */
  readonly handlers: readonly HttpHandler[];
  /** Answers bytes that are not a request. */
  readonly routes: Pick<JsonRoutes, "refusal">;
  readonly tls?: ServerTls | undefined;
}

/** The HTTP/1.1 server: its connections, the order of responses on each, and their end. */
export class HttpServer {
  readonly #server: Server;
  readonly #responses: OpenResponses;
  readonly #limits: ConnectionLimits;
  #draining = false;

  /** @param limits overrides {@link CONNECTION_LIMITS} */
  constructor({ handlers, routes, tls }: HttpServerParts, limits: Partial<ConnectionLimits> = {}) {
    const dispatch = dispatcher(handlers);
    this.#limits = { ...CONNECTION_LIMITS, ...limits };
    this.#responses = new OpenResponses(this.#limits, (socket) => {
      // No new connections are accepted, so each ends after its last response.
      if (!this.#server.listening) socket.end();
    });
    const answer = (code: string | undefined) => routes.refusal(parseError(code));
    const handle = (request: IncomingMessage, response: ServerResponse) => {
      const { socket } = request;
      // Node parses the rest of a packet after the connection is destroyed.
      if (socket.destroyed || socket.writableEnded || this.#responses.isEnding(socket)) return;
      if (!isPlainlyFramed(request)) return this.#refuse(socket, undefined, answer);
      const gone = this.#responses.add(socket, response);
      // One packet holds many requests; all of them would run.
      if (!gone) return void socket.destroy();
      if (mustEnd(request)) response.shouldKeepAlive = false;
      this.#responses.inTurn(socket, () => serve(request, response, gone));
    };
    const serve = (request: IncomingMessage, response: ServerResponse, gone: AbortSignal) => {
      if (this.#draining) response.shouldKeepAlive = false;
      dispatch(request, response, gone);
    };
    this.#server = openServer(this.#limits, tls, handle);
    this.#server.maxConnections = this.#limits.connections;
    this.#server.setTimeout(this.#limits.stallMs, (socket) => this.#onIdle(socket));
    // Servers may ignore unknown expectations (RFC 9110 section 10.1.1).
    this.#server.on("checkExpectation", handle);
    this.#server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
      this.#refuse(socket, error.code, answer);
    });
  }

  /** Called after a connection was idle for stallMs. Only running requests may take longer. */
  #onIdle(socket: Socket): void {
    // The next byte of the response restarts the timeout.
    if (!this.#responses.isBusy(socket) || socket.writableLength > 0) socket.destroy();
  }

  /** Ends a connection after a parse error. Earlier requests get their responses: they may be paid for. */
  #refuse(socket: Duplex, code: string | undefined, answer: (code: string | undefined) => string): void {
    const waiting = this.#responses.waiting(socket);
    const last = waiting.findLast(({ req, writableEnded }) => req.complete || writableEnded);
    if (last) {
      if (last.shouldKeepAlive) last.once("finish", () => this.#end(socket));
      last.shouldKeepAlive = false;
    } else if (socket.writable && !waiting[0]?.headersSent) {
      this.#end(socket, answer(code));
    } else {
      socket.destroy();
    }
  }

  /** @param text last bytes to send */
  #end(socket: Duplex, text = ""): void {
    socket.end(text);
    setTimeout(() => socket.destroy(), this.#limits.lingerMs).unref();
  }

  /** @returns the port */
  async listen(host: string, port: number): Promise<number> {
    this.#server.listen({ host, port, backlog: 1024 });
    await once(this.#server, "listening");
    return portOf(this.#server.address());
  }

  drain(): void {
    this.#draining = true;
  }

  /** Stops accepting, waits for running requests, and closes idle connections at once. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeIdleConnections();
    await closed;
  }

  destroy(): void {
    this.#server.closeAllConnections();
  }
}

/** A proxy may see other ends of a body behind any other coding than this one. */
function isPlainlyFramed({ headers }: IncomingMessage): boolean {
  const coding = headers["transfer-encoding"];
  return coding === undefined || coding.toLowerCase() === "chunked";
}

/**
 * Whether a request's connection must end: its body is never read, or may end elsewhere for a proxy
 * (RFC 9112 section 6.1).
 */
function mustEnd(request: IncomingMessage): boolean {
  const { method, httpVersion, headers } = request;
  if (httpVersion === "1.0" && headers["transfer-encoding"] !== undefined) return true;
  return (method === "GET" || method === "HEAD") && hasBody(request);
}

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

function openServer(limits: ConnectionLimits, tls: ServerTls | undefined, handle: Handle): Server {
  if (!tls) return createServer(optionsOf(limits), handle);
  const server = createTlsServer({ ...optionsOf(limits), ...secureOptionsOf(limits, tls) }, handle);
  tls.onChange((files) => server.setSecureContext(files));
  return server;
}

/** With TLS_CLIENT_CA, only clients with a certificate of it may connect. */
function secureOptionsOf({ headMs }: ConnectionLimits, { files }: ServerTls) {
  const checked = files.ca !== undefined;
  return { ...files, handshakeTimeout: headMs, requestCert: checked, rejectUnauthorized: checked };
}

function optionsOf({ headMs, requestMs, idleMs, checkMs }: ConnectionLimits): ServerOptions {
  return {
    headersTimeout: headMs,
    requestTimeout: requestMs,
    keepAliveTimeout: idleMs,
    connectionsCheckingInterval: checkMs,
    maxHeaderSize: HEAD_LIMIT,
    joinDuplicateHeaders: true,
    requireHostHeader: false,
  };
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === "string") throw new Error("not a TCP address");
  return address.port;
}
