import { Lru } from "../../domain/core/lru.ts";
import { formatUsdc } from "../../domain/core/money.ts";
import type { Metrics } from "../operations/metrics.ts";
import type { FinalityStatus, TreasuryChain, UnfinalizedPayment } from "../treasury/treasury-chain.ts";
import type { TreasuryLedger } from "../treasury/treasury-ledger.ts";
import type { Log } from "../../domain/core/log.ts";

/** Minimum age of a payment, ms: the treasury watch finds most payments finalized by then. */
const MIN_AGE_MS = 5_000;

/** Payments per chain query: the limit of getSignatureStatuses. */
const BATCH = 256;

/** Capacity of the memory of reported mismatches. */
const REPORTED = 10_000;

export interface FinalityDeps {
  readonly chain: Pick<TreasuryChain, "finalityStatuses">;
  readonly ledger: Pick<TreasuryLedger, "unfinalized" | "finalize" | "reverse" | "postpone">;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Tracks payments that were credited before finality until they are finalized or certain to fail. */
export class FinalityTracker {
  readonly #deps: FinalityDeps;
  readonly #reported = new Lru<string, true>(REPORTED);

  constructor(deps: FinalityDeps) {
    this.#deps = deps;
  }

  /** Checks every payment once. */
  async run(signal: AbortSignal): Promise<void> {
    const { ledger, chain } = this.#deps;
    const seen = new Set<string>();
    for (;;) {
      signal.throwIfAborted();
      const payments = await ledger.unfinalized({ minAgeMs: MIN_AGE_MS, limit: BATCH });
      const fresh = payments.filter(({ txSignature }) => !seen.has(txSignature));
      if (fresh.length === 0) return;
      for (const { txSignature } of fresh) seen.add(txSignature);
      const statuses = await chain.finalityStatuses(fresh, signal);
      signal.throwIfAborted();
      await this.#settle(fresh.map((payment, index) => ({ payment, status: statuses[index] ?? "pending" })));
      if (payments.length < BATCH) return;
    }
  }

  async #settle(judged: readonly { payment: UnfinalizedPayment; status: FinalityStatus }[]): Promise<void> {
    const { ledger, metrics } = this.#deps;
    const finalized = signaturesOf(judged, ["finalized"]);
    if (finalized.length > 0) {
      metrics.count("toolgate_payments_finalized_total", await ledger.finalize(finalized));
    }
    // Before anything that can fail: a payment without an outcome must not block the others.
    const waiting = signaturesOf(judged, ["pending", "different"]);
    if (waiting.length > 0) await ledger.postpone(waiting);
    for (const { payment, status } of judged) {
      if (status === "different") this.#reportDifferent(payment);
      if (status === "vanished" || status === "failed") await this.#reverse(payment, status);
    }
  }

  async #reverse({ txSignature }: UnfinalizedPayment, status: "vanished" | "failed"): Promise<void> {
    const { ledger, metrics, log } = this.#deps;
    const reversed = await ledger.reverse(txSignature);
    if (!reversed) return;
    metrics.count("toolgate_payments_reversed_total");
    const { accountId, amount, balance } = reversed;
    log.error(
      {
        tx_signature: txSignature,
        account: accountId,
        amount_usdc: formatUsdc(amount),
        balance_usdc: formatUsdc(balance),
      },
      status === "vanished"
        ? "a payment vanished from the chain and was reversed"
        : "a payment that had succeeded failed on the chain and was reversed",
    );
  }

  #reportDifferent({ txSignature, amount }: UnfinalizedPayment): void {
    if (this.#reported.get(txSignature)) return;
    this.#reported.set(txSignature, true);
    this.#deps.metrics.count("toolgate_payments_mismatched_total");
    this.#deps.log.error(
      { tx_signature: txSignature, credited_usdc: formatUsdc(amount) },
      "a payment was credited with another amount than the chain reports; nothing was changed",
    );
  }
}

function signaturesOf(
  judged: readonly { payment: UnfinalizedPayment; status: FinalityStatus }[],
  statuses: readonly FinalityStatus[],
): string[] {
  return judged.filter(({ status }) => statuses.includes(status)).map(({ payment }) => payment.txSignature);
}
