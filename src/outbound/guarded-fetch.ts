import { isIP } from "node:net";
import process from "node:process";
import { Agent, buildConnector, fetch } from "undici";
import { ForbiddenAddressError, mayConnect, networkFor, type Guard, type Network } from "./address-guard.ts";
import { guardedLookup } from "./guarded-lookup.ts";
import { ACCEPT_ENCODING, limitedChunks, serverAnswer, type ServerAnswer } from "./server-answer.ts";

/** Default response limit after decompression, bytes; far more than a model writes. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

const CONNECT_MS = 10_000;

/** Errors thrown before a connection existed. */
const unconnected = new WeakSet<Error>();

export interface GuardedFetchOptions extends Guard {
  /** Response limit after decompression, bytes; default 16 MiB. */
  readonly maxBytes?: number;
}

/** The fetch signature that client libraries expect. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

export interface ServerRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  readonly signal: AbortSignal;
}

export interface OpenFetch {
  /** For client libraries; refuses the ports of other protocols. */
  readonly fetch: Fetch;
  /** Takes a third of the CPU time of fetch. */
  request(url: string | URL, request: ServerRequest): Promise<ServerAnswer>;
  close(): Promise<void>;
}

/**
 * Creates a fetch for addresses the operator configured. It follows no redirects, because it sends the
 * operator's keys. It checks the address it actually connects to, so DNS rebinding has no effect.
 */
export function guardedFetch(options: GuardedFetchOptions): Fetch {
  return openGuardedFetch(options).fetch;
}

/** Like {@link guardedFetch}, with a way to close its connections. */
export function openGuardedFetch({
  maxBytes = MAX_RESPONSE_BYTES,
  ...guard
}: GuardedFetchOptions): OpenFetch {
  const dispatcher = new Agent({
    connect: guardedConnector(guard),
    // The caller's own time limit applies.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const guarded: Fetch = async (input, init = {}) => {
    if (input instanceof Request) throw new TypeError("Request objects are not supported; pass a URL");
    const { method = "GET", body, signal } = init;
    if (body !== undefined && body !== null && typeof body !== "string" && !(body instanceof Uint8Array))
      throw new TypeError("only texts and bytes are supported as bodies");
    const answer = await fetch(input, {
      method,
      headers: [...new Headers(init.headers)],
      body: body ?? null,
      signal: signal ?? null,
      redirect: "manual",
      dispatcher,
    });
    const { status } = answer;
    if (status > 599) {
      // A Response cannot hold this status; an unread body would keep the connection open.
      await answer.body?.cancel();
      throw new TypeError(`the server responded with the invalid status ${status}`);
    }
    // Without the reason phrase, which may contain any bytes.
    return new Response(limitBody(answer.body, maxBytes), { status, headers: [...answer.headers] });
  };
  return {
    fetch: guarded,
    async request(url, { method, headers, body = null, signal }) {
      const { origin, pathname, search } = new URL(url);
      const all = { "accept-encoding": ACCEPT_ENCODING, ...headers };
      const path = `${pathname}${search}`;
      return serverAnswer(
        await dispatcher.request({ origin, path, method, headers: all, body, signal }),
        maxBytes,
      );
    },
    close: () => dispatcher.destroy(),
  };
}

/** Returns whether a request failed before a connection existed (TLS included) and may be sent elsewhere. */
export function neverConnected(error: unknown): boolean {
  return error instanceof Error && (unconnected.has(error) || neverConnected(error.cause));
}

/** Connects only to addresses that {@link mayConnect} allows, after resolving names. */
function guardedConnector(guard: Guard): buildConnector.connector {
  const connect = buildConnector({ timeout: CONNECT_MS, lookup: guardedLookup(guard) });
  const fail = (error: Error, callback: buildConnector.Callback) => {
    unconnected.add(error);
    callback(error, null);
  };
  const refuse = (hostname: string, network: Network, callback: buildConnector.Callback) =>
    fail(new ForbiddenAddressError(hostname, network), callback);
  return (options, callback) => {
    const { hostname } = options;
    const network = networkFor(guard, hostname.replace(/^\[|\]$/g, ""));
    // The resolver does not see an IP address in the URL.
    if (isIP(hostname) !== 0 && !mayConnect(hostname, network)) {
      process.nextTick(refuse, hostname, network, callback);
      return;
    }
    connect(options, (...[error, socket]) => {
      if (error) return fail(error, callback);
      if (mayConnect(socket.remoteAddress ?? "", network)) return callback(null, socket);
      socket.destroy();
      return refuse(hostname, network, callback);
    });
  };
}

function limitBody(body: AsyncIterable<Uint8Array> | null, most: number): ReadableStream<Uint8Array> | null {
  return body && ReadableStream.from(limitedChunks(most, body));
}
