import { lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import process from "node:process";
import { Agent, buildConnector, fetch } from "undici";
import { ForbiddenAddressError, mayConnect, type Network } from "./address-guard.ts";

/** Longest answer that is read, bytes, after decompression: far more than any model writes. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** How long a connection may take, ms. */
const CONNECT_MS = 10_000;

/** What the fetch of an upstream needs. */
export interface GuardedFetchOptions {
  readonly network: Network;
  /** Finds the addresses of a name; the system's resolver when left out. */
  readonly lookup?: LookupFunction;
}

/** The signature that the client library asks for. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * A fetch for addresses that an operator configured: it sends the operator's keys, so it follows no redirect, and it looks at the very
 * address that it connects to, so that a name cannot mean one address when it is checked and another when it is used.
 */
export function guardedFetch({ network, lookup = systemLookup }: GuardedFetchOptions): Fetch {
  const dispatcher = new Agent({
    connect: guardedConnector(network, lookup),
    // The caller's own time limit is the one that counts.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return async (input, init = {}) => {
    if (input instanceof Request) throw new TypeError("is asked by address");
    const { method = "GET", body, signal } = init;
    if (body !== undefined && body !== null && typeof body !== "string") throw new TypeError("sends text only");
    const answer = await fetch(input, {
      method,
      headers: [...new Headers(init.headers)],
      body: body ?? null,
      signal: signal ?? null,
      redirect: "manual",
      dispatcher,
    });
    const { status, statusText } = answer;
    return new Response(bounded(answer.body), { status, statusText, headers: [...answer.headers] });
  };
}

/** Connects only where {@link mayConnect} says so: for a name by what it is found to mean, for an address by what it is. */
function guardedConnector(network: Network, lookup: LookupFunction): buildConnector.connector {
  const connect = buildConnector({ timeout: CONNECT_MS, lookup: guardedLookup(network, lookup) });
  const refuse = (hostname: string, callback: buildConnector.Callback) =>
    callback(new ForbiddenAddressError(hostname, network), null);
  return (options, callback) => {
    const { hostname } = options;
    // An address that stands in the URL itself is not looked up.
    if (isIP(hostname) !== 0 && !mayConnect(hostname, network)) {
      process.nextTick(refuse, hostname, callback);
      return;
    }
    connect(options, (...[error, socket]) => {
      if (error) return callback(error, null);
      if (mayConnect(socket.remoteAddress ?? "", network)) return callback(null, socket);
      socket.destroy();
      return refuse(hostname, callback);
    });
  };
}

/** Refuses a name as soon as one of its addresses is refused: whoever answers for such a name means no good. */
function guardedLookup(network: Network, lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, found, family) => {
      if (error) return callback(error, found, family);
      const addresses = typeof found === "string" ? [found] : found.map(({ address }) => address);
      if (addresses.every((address) => mayConnect(address, network))) return callback(null, found, family);
      return callback(new ForbiddenAddressError(hostname, network), found, family);
    });
  };
}

function bounded(body: AsyncIterable<Uint8Array> | null): ReadableStream<Uint8Array> | null {
  return body && ReadableStream.from(upTo(MAX_ANSWER_BYTES, body));
}

/** @throws RangeError as soon as there is more */
async function* upTo(most: number, body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > most) throw new RangeError(`the answer is longer than ${most} bytes`);
    yield chunk;
  }
}
