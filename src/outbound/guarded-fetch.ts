import { isIP } from "node:net";
import process from "node:process";
import { Agent, buildConnector, fetch } from "undici";
import { ForbiddenAddressError, mayConnect, networkFor, type Guard, type Network } from "./address-guard.ts";
import { guardedLookup } from "./guarded-lookup.ts";

/** Longest answer that is read unless told otherwise, bytes, after decompression: far more than any model writes. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/** How long a connection may take, ms. */
const CONNECT_MS = 10_000;

/** What went wrong before there was a connection. */
const unconnected = new WeakSet<Error>();

/** What the fetch of a foreign server needs. */
export interface GuardedFetchOptions extends Guard {
  /** Longest answer that is read, bytes, after decompression; 16 MiB when left out. */
  readonly maxBytes?: number;
}

/** The signature that client libraries ask for. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** A fetch and the end of its connections. */
export interface OpenFetch {
  readonly fetch: Fetch;
  close(): Promise<void>;
}

/** An answer that is longer than anybody wants to read. */
export class ResponseTooLongError extends RangeError {
  override name = "AnswerTooLongError";

  constructor(most: number) {
    super(`the answer is longer than ${most} bytes`);
  }
}

/**
 * A fetch for addresses that an operator configured: it sends the operator's keys, so it follows no redirect, and it looks at the very
 * address that it connects to, so that a name cannot mean one address when it is checked and another when it is used.
 */
export function guardedFetch(options: GuardedFetchOptions): Fetch {
  return openGuardedFetch(options).fetch;
}

/** The same, for those that come to an end before the process does. */
export function openGuardedFetch({
  maxBytes = MAX_RESPONSE_BYTES,
  ...guard
}: GuardedFetchOptions): OpenFetch {
  const dispatcher = new Agent({
    connect: guardedConnector(guard),
    // The caller's own time limit is the one that counts.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const guarded: Fetch = async (input, init = {}) => {
    if (input instanceof Request) throw new TypeError("is asked by address");
    const { method = "GET", body, signal } = init;
    if (body !== undefined && body !== null && typeof body !== "string")
      throw new TypeError("sends text only");
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
      // Nothing that a Response could have, whatever comes with it; a body that nobody reads would keep the connection.
      await answer.body?.cancel();
      throw new TypeError(`the server answered with HTTP ${status}, which is no status`);
    }
    // Without the words after the status, which a server may write in any bytes and nobody needs.
    return new Response(limitBody(answer.body, maxBytes), { status, headers: [...answer.headers] });
  };
  return { fetch: guarded, close: () => dispatcher.destroy() };
}

/** Whether a request failed before there was a connection, TLS included: then nobody has seen it, and it may be sent elsewhere. */
export function neverConnected(error: unknown): boolean {
  return error instanceof Error && (unconnected.has(error) || neverConnected(error.cause));
}

/** Connects only where {@link mayConnect} says so: for a name by what it is found to mean, for an address by what it is. */
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
    // An address that stands in the URL itself is not looked up.
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

/** @throws AnswerTooLongError as soon as there is more */
async function* limitedChunks(most: number, body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > most) throw new ResponseTooLongError(most);
    yield chunk;
  }
}
