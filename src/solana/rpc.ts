import { ToolgateError } from "../domain/core/errors.ts";
import { Endpoint, type EndpointOptions, type RpcRequest } from "./endpoint.ts";
import { parseEndpointUrl } from "./endpoint-url.ts";
import { RpcError, RpcFailure } from "./rpc-failure.ts";

/** A result and the endpoint that gave it. */
export interface Answer<Result> {
  readonly result: Result;
  readonly endpoint: Endpoint;
}

/** Solana's JSON-RPC over an ordered list of endpoints: the first that gives a usable answer counts. */
export class SolanaRpc {
  /** In the operator's order. */
  readonly endpoints: readonly Endpoint[];

  /** @throws TypeError for a URL that cannot be read, or none at all */
  constructor(urls: readonly string[], options: EndpointOptions) {
    if (urls.length === 0) throw new TypeError("SOLANA_RPC_URLS: names no endpoint");
    const isLastResort = (endpoint: Endpoint) => endpoint === this.#lastResort();
    this.endpoints = urls.map(
      (url, index) => new Endpoint(parseEndpointUrl(url, index + 1), options, isLastResort),
    );
  }

  /** The endpoint whose pause ends first, while all are left alone: what has asked for a long pause is often well sooner. */
  #lastResort(): Endpoint | undefined {
    if (this.endpoints.some(({ waitMs }) => waitMs === 0)) return undefined;
    return this.endpoints
      .filter(({ paused }) => paused)
      .toSorted((one, other) => one.waitMs - other.waitMs)[0];
  }

  /**
   * Asks one endpoint after the other until one gives a usable answer.
   * @param order which endpoints, in which order; all in the operator's order when left out
   * @throws ToolgateError UNAVAILABLE when none does, RpcError when the answer is a final error, the signal's reason when it aborts
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
   * Asks one endpoint after the other until one can tell. Unlike with {@link ask}, no error of one is final: the next may know better.
   * @param tell resolves to undefined when the endpoint does not know
   * @throws ToolgateError UNAVAILABLE when none can tell, the signal's reason when it aborts
   */
  async firstTold<Result>(
    order: readonly Endpoint[],
    signal: AbortSignal,
    tell: (endpoint: Endpoint) => Promise<Result | undefined>,
  ): Promise<Result> {
    const failures: Error[] = [];
    for (const endpoint of order) {
      try {
        const told = await tell(endpoint);
        if (told !== undefined) return told;
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

/** The outage that a caller is told of. @param failures why none of these endpoints gave an answer */
export function unavailable(failures: readonly Error[], order: readonly Endpoint[]): ToolgateError {
  const waitMs = Math.min(...order.map((endpoint) => endpoint.waitMs));
  const cause = new AggregateError(failures, failures.map((failure) => failure.message).join("; "));
  return new ToolgateError(
    "UNAVAILABLE",
    "the Solana network cannot be asked right now; nothing was consumed, repeat the call with the same proof",
    {
      retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
      cause,
    },
  );
}
