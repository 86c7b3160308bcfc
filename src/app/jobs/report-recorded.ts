import { formatUsdc } from "../../domain/core/money.ts";
import { otherCellIn } from "../../domain/payments/memo.ts";
import type { Metrics } from "../operations/metrics.ts";
import type { AttributedMovement, RecordResult } from "../treasury/treasury-ledger.ts";
import type { Log } from "../../domain/core/log.ts";

/** Updates metrics and logs events for operators. */
export function reportRecorded(
  { metrics, log, cell = 0 }: { metrics: Metrics; log: Log; cell?: number },
  movement: AttributedMovement,
  recorded: RecordResult,
): void {
  const { txSignature, change, attribution, memos } = movement;
  const details = { tx_signature: txSignature, amount_usdc: formatUsdc(change) };
  switch (recorded) {
    case "known":
      return;
    case "finalized":
      metrics.count("toolgate_payments_finalized_total");
      return;
    case "credited":
      metrics.count("toolgate_payments_credited_total");
      log.info(
        { ...details, account: attribution?.accountId },
        attribution?.quoteId.startsWith("dep_") ? "credited a deposit" : "credited a payment without a proof",
      );
      return;
    case "suspended":
      metrics.count("toolgate_payments_suspended_total");
      log.warn(
        { ...details, memos, cell: otherCellIn(memos ?? "", cell) },
        "a transfer names no quote of this gateway and is held in suspense",
      );
      return;
    case "withdrawn":
      log.info(details, "treasury withdrawal recorded");
      return;
    case "reinstated":
      metrics.count("toolgate_payments_reinstated_total");
      log.warn(details, "a reversed payment is finalized after all and was reinstated");
      return;
    case "mismatch":
      metrics.count("toolgate_payments_mismatched_total");
      log.error(
        details,
        "a payment was credited with another amount than the chain reports; nothing was changed",
      );
  }
}
