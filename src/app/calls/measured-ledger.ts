import type { Clock } from "../../domain/core/clock.ts";
import type { Metrics } from "../operations/metrics.ts";
import type { VerifiedTransfer } from "../payments/payment-methods.ts";
import type { AuthorizeResult, CallAuthorization, Ledger, RunEndResult } from "./ledger.ts";

const UNCREDITED: ReadonlySet<AuthorizeResult["kind"]> = new Set([
  "replay",
  "in_progress",
  "mismatch",
  "payment_used",
  "unassigned",
  "reversed",
]);

/** Counts what a ledger answers: the steps of purchases, and money. */
export function measuredLedger(ledger: Ledger, metrics: Metrics, clock: Clock): Ledger {
  const credited = ({ amount, paidBy: method, blockTime }: VerifiedTransfer) => {
    metrics.count("toolgate_credited_microusd_total", Number(amount), { method });
    const delay = (clock.now() - blockTime.getTime()) / 1_000;
    metrics.observe("toolgate_credit_delay_seconds", Math.max(0, delay), { method });
    metrics.set("toolgate_clock_ahead_seconds", Math.min(0, delay), { of: "chain" });
  };
  return {
    async findPrior(query) {
      metrics.count("toolgate_funnel_total", 1, { step: "proved" });
      const prior = await ledger.findPrior(query);
      if (prior?.kind === "replay") metrics.count("toolgate_replays_total");
      return prior;
    },
    async authorize(call) {
      const result = await ledger.authorize(call);
      countAuthorization(metrics, call, result);
      const { transfer } = call.payment ?? {};
      if (transfer && !UNCREDITED.has(result.kind)) credited(transfer);
      return result;
    },
    async capture(run) {
      const ended = await ledger.capture(run);
      countEnd(metrics, ended);
      return ended;
    },
    async release(run) {
      const ended = await ledger.release(run);
      countEnd(metrics, ended);
      return ended;
    },
    async credit(accountId, deposit) {
      const result = await ledger.credit(accountId, deposit);
      if (result.credited) credited(deposit);
      return result;
    },
    balance: (accountId) => ledger.balance(accountId),
    refusalOf: (call) => ledger.refusalOf(call),
    isAllowedOnce: (call) => ledger.isAllowedOnce(call),
  };
}

function countAuthorization(
  metrics: Metrics,
  { payment }: CallAuthorization,
  { kind }: AuthorizeResult,
): void {
  metrics.count("toolgate_authorizations_total", 1, { result: kind });
  if (kind === "replay") metrics.count("toolgate_replays_total");
  if (kind === "insufficient") metrics.count("toolgate_funnel_total", 1, { step: "quoted" });
  if (kind === "started" && payment) metrics.count("toolgate_funnel_total", 1, { step: "paid" });
}

function countEnd(metrics: Metrics, ended: RunEndResult): void {
  metrics.count("toolgate_captures_total", 1, { result: ended.kind });
  if (ended.kind !== "captured" || !ended.receipt) return;
  const { paidBy: method, debited } = ended.receipt;
  metrics.count("toolgate_charged_microusd_total", Number(debited), { method });
  metrics.count("toolgate_funnel_total", 1, { step: "captured" });
}
