import { Lru } from "../../domain/core/lru.ts";
import { formatUsdc } from "../../domain/core/money.ts";
import type { Metrics } from "../operations/metrics.ts";
import type { FinalityStatus, TreasuryChain, UnfinalizedPayment } from "../treasury/treasury-chain.ts";
import type { TreasuryLedger } from "../treasury/treasury-ledger.ts";
import type { Log } from "../../domain/core/log.ts";

/** How old a payment is before it is looked at, ms: the watch finds most of them finalized by then or soon after. */
const MIN_AGE_MS = 5_000;

/** Payments in one question to the chain, as many as getSignatureStatuses takes. */
const BATCH = 256;

/** How many payments of a wrong amount are remembered as told. */
const TOLD = 10_000;

/** What the work needs. */
export interface FinalityDeps {
  readonly chain: Pick<TreasuryChain, "finalityStatuses">;
  readonly ledger: Pick<TreasuryLedger, "unfinalized" | "finalize" | "reverse" | "postpone">;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Follows payments that were credited before they were finalized, until they are, or until it is sure that they never will be. */
export class FinalityTracker {
  readonly #deps: FinalityDeps;
  readonly #told = new Lru<string, true>(TOLD);

  constructor(deps: FinalityDeps) {
    this.#deps = deps;
  }

  /** Looks at every payment once. */
  async run(signal: AbortSignal): Promise<void> {
    const { ledger, chain } = this.#deps;
    const seen = new Set<string>();
    for (;;) {
      signal.throwIfAborted();
      const payments = await ledger.unfinalized({ minAgeMs: MIN_AGE_MS, limit: BATCH });
      const fresh = payments.filter(({ txSignature }) => !seen.has(txSignature));
      if (fresh.length === 0) return;
      for (const { txSignature } of fresh) seen.add(txSignature);
      const standings = await chain.finalityStatuses(fresh, signal);
      signal.throwIfAborted();
      await this.#settle(
        fresh.map((payment, index) => ({ payment, standing: standings[index] ?? "pending" })),
      );
      if (payments.length < BATCH) return;
    }
  }

  async #settle(judged: readonly { payment: UnfinalizedPayment; standing: FinalityStatus }[]): Promise<void> {
    const { ledger, metrics } = this.#deps;
    const finalized = signaturesOf(judged, ["finalized"]);
    if (finalized.length > 0) {
      metrics.count("toolgate_payments_finalized_total", await ledger.finalize(finalized));
    }
    // Before anything that may fail: what cannot be judged must not keep the rest from being looked at.
    const waiting = signaturesOf(judged, ["pending", "different"]);
    if (waiting.length > 0) await ledger.postpone(waiting);
    for (const { payment, standing } of judged) {
      if (standing === "different") this.#tellDifferent(payment);
      if (standing === "vanished" || standing === "failed") await this.#reverse(payment, standing);
    }
  }

  async #reverse({ txSignature }: UnfinalizedPayment, standing: "vanished" | "failed"): Promise<void> {
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
      standing === "vanished"
        ? "a payment vanished from the chain and was taken back"
        : "a payment failed on the chain that had been seen to succeed, and was taken back",
    );
  }

  #tellDifferent({ txSignature, amount }: UnfinalizedPayment): void {
    if (this.#told.get(txSignature)) return;
    this.#told.set(txSignature, true);
    this.#deps.metrics.count("toolgate_payments_mismatched_total");
    this.#deps.log.error(
      { tx_signature: txSignature, credited_usdc: formatUsdc(amount) },
      "a payment was credited with another amount than the chain tells; nothing was changed",
    );
  }
}

function signaturesOf(
  judged: readonly { payment: UnfinalizedPayment; standing: FinalityStatus }[],
  standings: readonly FinalityStatus[],
): string[] {
  return judged
    .filter(({ standing }) => standings.includes(standing))
    .map(({ payment }) => payment.txSignature);
}
