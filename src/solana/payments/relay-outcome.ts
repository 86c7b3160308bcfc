import type { RelayChain } from "../../app/payments/gasless/relay-chain.ts";
import type { Endpoint } from "../rpc/endpoint.ts";
import { printable } from "../core/printable.ts";
import { heightRequest } from "./relay-requests.ts";
import { hasReached, readOutcomes } from "../transactions/signature-status.ts";
import { transactionFailure } from "../transactions/transaction-failure.ts";

/**
 * Blocks past a transaction's last valid block before its absence counts: it can no longer land, and nodes
 * had time to index it.
 */
const MARGIN_BLOCKS = 10n;

type Query = Parameters<RelayChain["outcome"]>[0];
type Outcome = Awaited<ReturnType<RelayChain["outcome"]>>;

/**
 * One endpoint's report on a transaction. @throws RpcFailure or RpcError if it fails; the signal's reason on
 * abort
 */
export async function outcomeAt(endpoint: Endpoint, query: Query): Promise<Outcome> {
  const status = await statusAt(endpoint, query);
  if (status !== "absent") return status;
  const height = await endpoint.ask(heightRequest("finalized", query.signal));
  if (height <= query.lastValidBlockHeight + MARGIN_BLOCKS) return { kind: "absent", expired: false };
  // It may have landed between the two requests.
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
  // Seen, but its fork may still be dropped.
  if (!hasReached(status, "confirmed")) return { kind: "absent", expired: false };
  if (status.err === null) return { kind: "confirmed" };
  return { kind: "failed", reason: printable(transactionFailure(status.err).reason) };
}
