import type { Movement } from "../../app/treasury/treasury-chain.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { Endpoint, RpcRequest } from "../rpc/endpoint.ts";
import type { Log } from "../../domain/core/log.ts";
import { RpcError, RpcFailure } from "../rpc/rpc-failure.ts";
import { unavailable } from "../rpc/rpc.ts";

/** A movement reported by one endpoint, and the request for confirming it. */
export interface MovementReport {
  readonly movement: Movement;
  readonly reporter: Endpoint;
  /** Resolves to undefined if the endpoint does not find it. */
  readonly request: RpcRequest<Movement | undefined>;
}

/**
 * Confirms a large movement with a second endpoint: a single endpoint could forge it. Waits while others
 * respond without it; trusts the first if no other responds.
 * @throws ToolgateError UNAVAILABLE to retry later; the signal's reason on abort
 */
export async function confirmMovement(
  { movement, reporter, request }: MovementReport,
  endpoints: readonly Endpoint[],
  log: Log,
): Promise<Movement> {
  const others = endpoints.filter((endpoint) => endpoint !== reporter);
  const unknown: Error[] = [];
  for (const endpoint of others) {
    const again = await askAgain(endpoint, request);
    if (again instanceof RpcFailure) unknown.push(again);
    else if (again && isSame(movement, again)) return movement;
    else if (again) throw disagreement(movement, [reporter.host, endpoint.host], log);
  }
  if (unknown.length > 0) throw unavailable(unknown, others);
  return movement;
}

/** Another endpoint's report; RpcFailure: it does not find the movement; undefined: no response. */
async function askAgain(
  endpoint: Endpoint,
  request: RpcRequest<Movement | undefined>,
): Promise<Movement | RpcFailure | undefined> {
  try {
    return (await endpoint.ask(request)) ?? new RpcFailure("not_here", endpoint.host, "does not know");
  } catch (error) {
    request.signal.throwIfAborted();
    if (error instanceof RpcFailure && error.kind === "not_here") return error;
    if (error instanceof RpcFailure || error instanceof RpcError) return undefined;
    throw error;
  }
}

function isSame(one: Movement, other: Movement): boolean {
  return one.change === other.change && one.memo === other.memo;
}

function disagreement({ txSignature }: Movement, endpoints: readonly string[], log: Log): ToolgateError {
  log.error({ tx_signature: txSignature, endpoints }, "Solana RPC endpoints disagree on a transaction");
  return new ToolgateError("UNAVAILABLE", "the Solana network's answers contradict each other", {
    retryAfterSeconds: 5,
  });
}
