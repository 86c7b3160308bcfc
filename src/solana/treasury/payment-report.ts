import { z } from "zod";
import type { Endpoint } from "../rpc/endpoint.ts";
import { readOutcomes, type SignatureOutcome } from "../transactions/signature-status.ts";

/** One endpoint's report on several payments. */
export interface PaymentReport {
  readonly endpoint: Endpoint;
  /** Finalized slot that the endpoint had certainly reached. */
  readonly finalizedSlot: bigint;
  /** In the order of the signatures; null: unknown signature. */
  readonly outcomes: readonly SignatureOutcome[];
}

/** Requests a report. @throws RpcFailure or RpcError if the endpoint fails; the signal's reason on abort */
export async function requestReport(
  endpoint: Endpoint,
  signatures: readonly string[],
  signal: AbortSignal,
): Promise<PaymentReport> {
  // Reads the slot first: the statuses are at least as recent.
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
  // One address may hide several nodes, and a lagging one may have returned the statuses.
  return { endpoint, finalizedSlot: slot < reached ? slot : reached, outcomes };
}
