import type { RelayChain } from "../app/payments/relay-chain.ts";
import type { Endpoint } from "./endpoint.ts";
import { printable } from "./printable.ts";
import { heightRequest } from "./relay-requests.ts";
import { hasReached, readOutcomes } from "./signature-status.ts";
import { transactionFailure } from "./transaction-failure.ts";

/**
 * How far beyond a transaction's last block the finalized chain must be before its absence counts: whatever may still land has landed
 * by then, and the node has had time to index it.
 */
const MARGIN_BLOCKS = 10n;

type Query = Parameters<RelayChain["outcome"]>[0];
type Outcome = Awaited<ReturnType<RelayChain["outcome"]>>;

/** What one endpoint says of a transaction. @throws RpcFailure or RpcError when it cannot tell, the signal's reason when it aborts */
export async function outcomeAt(endpoint: Endpoint, query: Query): Promise<Outcome> {
  const told = await statusAt(endpoint, query);
  if (told !== "absent") return told;
  const height = await endpoint.ask(heightRequest("finalized", query.signal));
  if (height <= query.lastValidBlockHeight + MARGIN_BLOCKS) return { kind: "absent", expired: false };
  // It may have landed between the two questions.
  const again = await statusAt(endpoint, query);
  return again === "absent" ? { kind: "absent", expired: true } : again;
}

async function statusAt(endpoint: Endpoint, { txSignature, signal }: Query): Promise<Outcome | "absent"> {
  const { outcomes } = await endpoint.ask({
    method: "getSignatureStatuses",
    params: [[txSignature], { searchTransactionHistory: true }],
    read: (answer) => readOutcomes(answer, 1),
    signal,
  });
  const [status] = outcomes;
  if (!status) return "absent";
  // Seen, but it may be forked away yet.
  if (!hasReached(status, "confirmed")) return { kind: "absent", expired: false };
  if (status.err === null) return { kind: "confirmed" };
  return { kind: "failed", reason: printable(transactionFailure(status.err).reason) };
}
