import { Agent as HttpAgent, request as httpRequest } from "node:http";
import type { ClientRequest, IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { ChunkBuffer } from "../../domain/core/chunk-buffer.ts";
import { MalformedAnswer, RpcFailure, type RpcFailureKind } from "./rpc-failure.ts";

/** A response. Only status 200 has a body. */
export interface HttpAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: string;
}

interface Posting {
  readonly body: string;
  /** Maximum response size, bytes. */
  readonly longest: number;
  /** Time limit of the exchange, ms. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Never resent over a new connection: its response would not reveal the outcome of the first. */
  readonly once?: boolean;
}

/** Idle connections are closed after this long, ms, unless the server says sooner (Keep-Alive: timeout). */
const IDLE_MS = 15_000;
/** The server closed a keep-alive connection while the request was written. */
const CONNECTION_CLOSED = new Set(["ECONNRESET", "EPIPE"]);

/**
 * Posts JSON to one address over keep-alive connections.
 * Uses node:http because fetch takes four times the CPU, more than verifying a payment.
 */
export class HttpPost {
  readonly #host: string;
  readonly #open: (contentLength: number) => ClientRequest;

  constructor({ host, address, authorization }: EndpointUrl) {
    this.#host = host;
    const { protocol, hostname, port, pathname, search } = new URL(address);
    const options = {
      // node:http expects an IPv6 address without brackets.
      host: hostname.replace(/^\[|\]$/g, ""),
      port,
      path: pathname + search,
      method: "POST",
    };
    const headers = {
      host,
      "content-type": "application/json",
      // Responses are small: compression costs more than it saves.
      "accept-encoding": "identity",
      ...(authorization !== undefined && { authorization }),
    };
    const secure = protocol === "https:";
    const kept = { keepAlive: true, timeout: IDLE_MS };
    const agent = secure ? new HttpsAgent(kept) : new HttpAgent(kept);
    const begin = secure ? httpsRequest : httpRequest;
    this.#open = (contentLength) =>
      begin({ ...options, agent, headers: { ...headers, "content-length": contentLength } });
  }

  /**
   * Sends the request, and resends it if the server closed a keep-alive connection, unless `once`.
   * @throws RpcFailure without a response, MalformedAnswer for a response that is too long or invalid, the
   * signal's reason on abort
   */
  async send(posting: Posting): Promise<HttpAnswer> {
    const until = performance.now() + posting.timeoutMs;
    try {
      return await this.#exchange(posting, posting.timeoutMs);
    } catch (error) {
      if (!(error instanceof ConnectionLost) || posting.once) throw error;
      posting.signal.throwIfAborted();
      return this.#exchange(posting, until - performance.now());
    }
  }

  /** Sends one request. @param leftMs remaining time of the exchange */
  #exchange({ body, longest, timeoutMs, signal }: Posting, leftMs: number): Promise<HttpAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
    const request = this.#open(Buffer.byteLength(body));
    const stop = (reason: unknown) => {
      reject(reason);
      request.destroy();
    };
    const timer = setTimeout(
      () => stop(this.#failure("timeout", `no answer within ${timeoutMs} ms`)),
      leftMs,
    );
    const abort = () => stop(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    const settled = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    };
    request.on("error", (error) => reject(this.#lost(request, error)));
    request.on("response", (response) => {
      response.on("error", (error) => reject(this.#failure("network", codeOf(error))));
      if (response.statusCode === 200)
        readBody(response, longest, (text) => resolve(answerOf(response, text)), stop);
      else if (isRedirect(response)) stop(this.#failure("network", "redirects, which is not followed"));
      else {
        resolve(answerOf(response, ""));
        request.destroy();
      }
    });
    request.end(body);
    return promise.finally(settled);
  }

  #failure(kind: RpcFailureKind, problem: string): RpcFailure {
    return new RpcFailure(kind, this.#host, problem);
  }

  #lost(request: ClientRequest, error: Error): RpcFailure {
    const code = codeOf(error);
    if (request.reusedSocket && CONNECTION_CLOSED.has(code))
      return new ConnectionLost("network", this.#host, code);
    return this.#failure("network", code);
  }
}

/** The server closed a keep-alive connection, which does not indicate a fault. */
class ConnectionLost extends RpcFailure {}

/** Reports the whole body, or why it cannot be read; a truncated body is the response's error. */
function readBody(
  response: IncomingMessage,
  longest: number,
  done: (text: string) => void,
  stop: (problem: MalformedAnswer) => void,
): void {
  const encoding = response.headers["content-encoding"] ?? "identity";
  if (encoding !== "identity")
    return stop(new MalformedAnswer(`the answer is encoded as ${encoding}, unasked`));
  const pieces = new ChunkBuffer();
  response.on("data", (piece: Buffer) => {
    if (pieces.length + piece.length > longest) stop(new MalformedAnswer("the answer is too long"));
    else pieces.append(piece);
  });
  response.on("end", () => done(pieces.concat().toString("utf8")));
}

function answerOf({ statusCode = 0, headers }: IncomingMessage, body: string): HttpAnswer {
  return { status: statusCode, retryAfter: headers["retry-after"], body };
}

function isRedirect({ statusCode = 0, headers }: IncomingMessage): boolean {
  return statusCode >= 300 && statusCode < 400 && headers.location !== undefined;
}

/** Returns only the code of a network error: messages can hold addresses. */
function codeOf(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : "network error";
}

/** A parsed RPC URL; its path, query and user may be secret and are never logged. */
export interface EndpointUrl {
  /** Host and port, the only part in errors and logs. */
  readonly host: string;
  /** Request URL without user and password. */
  readonly address: string;
  /** Basic credentials that the URL carried (RFC 7617). */
  readonly authorization: string | undefined;
}

/**
 * Parses one entry of SOLANA_RPC_URLS.
 * @param position 1-based, for the error: the text may hold a secret
 * @throws TypeError unless it is an http(s) URL
 */
export function parseEndpointUrl(text: string, position: number): EndpointUrl {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new TypeError(`SOLANA_RPC_URLS: entry ${position} is not an http or https URL`);
  }
  const { username, password, host } = url;
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  url.username = "";
  url.password = "";
  const authorization =
    username === "" && password === "" ? undefined : `Basic ${Buffer.from(credentials).toString("base64")}`;
  return { host, address: url.href, authorization };
}
