import { ToolgateError } from "../domain/errors.ts";
import { Endpoint, type EndpointOptions, type RpcRequest } from "./endpoint.ts";
import { parseEndpointUrl } from "./endpoint-url.ts";
import { RpcFailure } from "./rpc-failure.ts";

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
    this.endpoints = urls.map((url, index) => new Endpoint(parseEndpointUrl(url, index + 1), options));
  }

  /**
   * Asks one endpoint after the other until one gives a usable answer.
   * @param order which endpoints, in which order; all in the operator's order when left out
   * @throws ToolgateError UNAVAILABLE when none does, RpcError when the answer is a final error, the signal's reason when it aborts
   */
  async ask<Result>(request: RpcRequest<Result>, order: readonly Endpoint[] = this.endpoints): Promise<Answer<Result>> {
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
}

function unavailable(failures: readonly RpcFailure[], order: readonly Endpoint[]): ToolgateError {
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
