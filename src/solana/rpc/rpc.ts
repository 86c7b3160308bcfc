import { ToolgateError } from "../../domain/core/errors.ts";
import { Endpoint, type EndpointOptions, type RpcRequest } from "./endpoint.ts";
import { parseEndpointUrl } from "./http-post.ts";
import { RpcError, RpcFailure } from "./rpc-failure.ts";

export interface Answer<Result> {
  readonly result: Result;
  readonly endpoint: Endpoint;
}

/** Solana JSON-RPC over an ordered list of endpoints: the first usable response counts. */
export class SolanaRpc {
  /** In the operator's order. */
  readonly endpoints: readonly Endpoint[];

  /** @throws TypeError for an invalid URL or an empty list */
  constructor(urls: readonly string[], options: EndpointOptions) {
    if (urls.length === 0) throw new TypeError("SOLANA_RPC_URLS: names no endpoint");
    const isLastResort = (endpoint: Endpoint) => endpoint === this.#lastResort();
    this.endpoints = urls.map(
      (url, index) => new Endpoint(parseEndpointUrl(url, index + 1), options, isLastResort),
    );
  }

  /** The endpoint whose pause ends first, if all are paused: long pauses often end early. */
  #lastResort(): Endpoint | undefined {
    if (this.endpoints.some(({ waitMs }) => waitMs === 0)) return undefined;
    return this.endpoints
      .filter(({ paused }) => paused)
      .toSorted((one, other) => one.waitMs - other.waitMs)[0];
  }

  /**
   * Tries the endpoints in order until one returns a usable response.
   * @param order default: all, in the operator's order
   * @throws ToolgateError UNAVAILABLE if none does, RpcError for a final error, the signal's reason on abort
   */
  async ask<Result>(
    request: RpcRequest<Result>,
    order: readonly Endpoint[] = this.endpoints,
  ): Promise<Answer<Result>> {
    const failures: RpcFailure[] = [];
    for (const endpoint of order) {
      try {
        return { result: await endpoint.ask(request), endpoint };
      } catch (error) {
        if (!(error instanceof RpcFailure)) throw error;
        failures.push(error);
      }
    }
    throw unavailable(failures, order);
  }

  /**
   * Tries the endpoints in order until one finds the result. Unlike {@link ask}, no error is final.
   * @param read resolves to undefined if the endpoint does not find it
   * @throws ToolgateError UNAVAILABLE if none finds it; the signal's reason on abort
   */
  async firstKnown<Result>(
    order: readonly Endpoint[],
    signal: AbortSignal,
    read: (endpoint: Endpoint) => Promise<Result | undefined>,
  ): Promise<Result> {
    const failures: Error[] = [];
    for (const endpoint of order) {
      try {
        const result = await read(endpoint);
        if (result !== undefined) return result;
        failures.push(new RpcFailure("not_here", endpoint.host, "does not know"));
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof RpcFailure) && !(error instanceof RpcError)) throw error;
        failures.push(error);
      }
    }
    throw unavailable(failures, order);
  }
}

/** Creates the UNAVAILABLE error for callers. @param failures why each endpoint returned no response */
export function unavailable(failures: readonly Error[], order: readonly Endpoint[]): ToolgateError {
  const waitMs = Math.min(...order.map((endpoint) => endpoint.waitMs));
  const cause = new AggregateError(failures, failures.map((failure) => failure.message).join("; "));
  return new ToolgateError(
    "UNAVAILABLE",
    "the Solana network cannot be asked right now; nothing was consumed, repeat the call with the same proof",
    { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)), cause },
  );
}
