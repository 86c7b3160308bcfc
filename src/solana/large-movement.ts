import type { Movement } from "../app/treasury/treasury-chain.ts";
import { ToolgateError } from "../domain/core/errors.ts";
import type { Endpoint, RpcRequest } from "./endpoint.ts";
import type { Log } from "./log.ts";
import { RpcError, RpcFailure } from "./rpc-failure.ts";
import { unavailable } from "./rpc.ts";

/** A movement that one endpoint told, and how others are asked for it. */
export interface ToldMovement {
  readonly movement: Movement;
  readonly teller: Endpoint;
  /** Resolves to undefined where an endpoint does not know it. */
  readonly request: RpcRequest<Movement | undefined>;
}

/**
 * Has a second endpoint tell a movement too, as proved payments of that size are: one alone could make it up. While others answer
 * that they do not know it, it waits; where none of them answers, the one that told it is believed.
 * @throws ToolgateError UNAVAILABLE when it is to be asked for again, the signal's reason when it aborts
 */
export async function confirmMovement(
  { movement, teller, request }: ToldMovement,
  endpoints: readonly Endpoint[],
  log: Log,
): Promise<Movement> {
  const others = endpoints.filter((endpoint) => endpoint !== teller);
  const unknown: Error[] = [];
  for (const endpoint of others) {
    const again = await askAgain(endpoint, request);
    if (again instanceof RpcFailure) unknown.push(again);
    else if (again && isSame(movement, again)) return movement;
    else if (again) throw disagreement(movement, [teller.host, endpoint.host], log);
  }
  if (unknown.length > 0) throw unavailable(unknown, others);
  return movement;
}

/** What another endpoint tells; RpcFailure: that it does not know it; undefined: nothing. */
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
  log.error(
    { tx_signature: txSignature, endpoints },
    "Solana RPC endpoints tell the same transaction differently",
  );
  return new ToolgateError("UNAVAILABLE", "the Solana network's answers contradict each other", {
    retryAfterSeconds: 5,
  });
}
