import type { AuthorizeResult, PriorOutcome } from "../../app/calls/ledger.ts";
import type { Receipt } from "../../domain/calls/receipt.ts";
import { unreceiptedRun } from "./records.ts";

/** Returns the receipt of a run if both are archived. */
export type ArchivedReceipt = (accountId: string, runId: string) => Promise<Receipt | undefined>;

/** Adds the receipt to a replay whose run is archived. Outside of a batch: it is read slowly. */
export async function withArchivedReceipt<Outcome extends AuthorizeResult | NonNullable<PriorOutcome>>(
  find: ArchivedReceipt | undefined,
  accountId: string,
  outcome: Outcome,
): Promise<Outcome> {
  const runId = unreceiptedRun(outcome);
  const receipt = runId === undefined ? undefined : await find?.(accountId, runId);
  return receipt ? { ...outcome, receipt } : outcome;
}
