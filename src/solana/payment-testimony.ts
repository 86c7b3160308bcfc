import { z } from "zod";
import type { Endpoint } from "./endpoint.ts";
import { readOutcomes, type SignatureOutcome } from "./signature-status.ts";

/** What one endpoint says of several payments. */
export interface Testimony {
  readonly endpoint: Endpoint;
  /** How far the endpoint had certainly come when it was asked. */
  readonly finalizedSlot: bigint;
  /** In the order of the signatures; null: it does not know the signature. */
  readonly outcomes: readonly SignatureOutcome[];
}

/** Asks an endpoint. @throws RpcFailure or RpcError when it cannot tell, the signal's reason when it aborts */
export async function hearEndpoint(
  endpoint: Endpoint,
  signatures: readonly string[],
  signal: AbortSignal,
): Promise<Testimony> {
  // The slot comes first: by the time of the statuses the endpoint has come at least as far.
  const reached = await endpoint.ask({
    method: "getSlot",
    params: [{ commitment: "finalized" }],
    read: (result) => BigInt(z.int().nonnegative().parse(result)),
    signal,
  });
  const { slot, outcomes } = await endpoint.ask({
    method: "getSignatureStatuses",
    params: [[...signatures], { searchTransactionHistory: true }],
    read: (result) => readOutcomes(result, signatures.length),
    signal,
  });
  // Behind one address there may be several nodes, of which one that lags gave the statuses.
  return { endpoint, finalizedSlot: slot < reached ? slot : reached, outcomes };
}
