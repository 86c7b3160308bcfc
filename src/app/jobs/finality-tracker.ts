import { Lru } from "../../domain/core/lru.ts";
import { formatUsdc } from "../../domain/core/money.ts";
import type { Metrics } from "../operations/metrics.ts";
import type { NetworkFinality } from "../payments/payment-methods.ts";
import type { FinalityStatus, UnfinalizedPayment, TreasuryLedger } from "../treasury/treasury-ledger.ts";
import type { Log } from "../../domain/core/log.ts";
import type { PaymentId } from "../../domain/payments/payment-id.ts";

/** Minimum age of a payment, ms: the treasury watch finds most payments finalized by then. */
const MIN_AGE_MS = 5_000;

/** Payments per chain query: the limit of getSignatureStatuses. */
const BATCH = 256;

/** Capacity of the memory of reported mismatches. */
const REPORTED = 10_000;

export interface FinalityDeps {
  /** By network. */
  readonly networks: ReadonlyMap<string, NetworkFinality>;
  readonly ledger: Pick<TreasuryLedger, "unfinalized" | "finalize" | "reverse" | "postpone">;
  readonly metrics: Metrics;
  readonly log: Log;
}

interface JudgedPayment {
  readonly payment: UnfinalizedPayment;
  readonly status: FinalityStatus;
}

/** Tracks payments that were credited before finality until they are finalized or certain to fail. */
export class FinalityTracker {
  readonly #deps: FinalityDeps;
  readonly #reported = new Lru<string, true>(REPORTED);

  constructor(deps: FinalityDeps) {
    this.#deps = deps;
  }

  /** Checks every payment once. A network that fails does not keep the others waiting. */
  async run(signal: AbortSignal): Promise<void> {
    const networks = Array.from(this.#deps.networks, ([network, finality]) =>
      this.#track(network, finality, signal),
    );
    const failed = (await Promise.allSettled(networks)).find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
  }

  async #track(network: string, finality: NetworkFinality, signal: AbortSignal): Promise<void> {
    const { ledger } = this.#deps;
    const seen = new Set<string>();
    for (;;) {
      signal.throwIfAborted();
      const payments = await ledger.unfinalized({ network, minAgeMs: MIN_AGE_MS, limit: BATCH });
      const fresh = payments.filter(({ reference }) => !seen.has(reference));
      if (fresh.length === 0) return;
      for (const { reference } of fresh) seen.add(reference);
      const statuses = await finality.finalityStatuses(fresh, signal);
      signal.throwIfAborted();
      await this.#settle(
        network,
        fresh.map((payment, index) => ({ payment, status: statuses[index] ?? "pending" })),
      );
      if (payments.length < BATCH) return;
    }
  }

  async #settle(network: string, judged: readonly JudgedPayment[]): Promise<void> {
    const { ledger, metrics } = this.#deps;
    const finalized = referencesOf(judged, ["finalized"]);
    if (finalized.length > 0) {
      metrics.count("toolgate_payments_finalized_total", await ledger.finalize(network, finalized));
    }
    // Before anything that can fail: a payment without an outcome must not block the others.
    const waiting = referencesOf(judged, ["pending", "different"]);
    if (waiting.length > 0) await ledger.postpone(network, waiting);
    for (const { payment, status } of judged) {
      if (status === "different") this.#reportDifferent(network, payment);
      if (status === "vanished" || status === "failed")
        await this.#reverse({ network, reference: payment.reference }, status);
    }
  }

  async #reverse(payment: PaymentId, status: "vanished" | "failed"): Promise<void> {
    const { ledger, metrics, log } = this.#deps;
    const reversed = await ledger.reverse(payment);
    if (!reversed) return;
    metrics.count("toolgate_payments_reversed_total");
    const { accountId, amount, balance } = reversed;
    log.error(
      {
        network: payment.network,
        tx_signature: payment.reference,
        account: accountId,
        amount_usdc: formatUsdc(amount),
        balance_usdc: formatUsdc(balance),
      },
      status === "vanished"
        ? "a payment vanished from the chain and was reversed"
        : "a payment that had succeeded failed on the chain and was reversed",
    );
  }

  #reportDifferent(network: string, { reference, amount }: UnfinalizedPayment): void {
    const key = `${network} ${reference}`;
    if (this.#reported.get(key)) return;
    this.#reported.set(key, true);
    this.#deps.metrics.count("toolgate_payments_mismatched_total");
    this.#deps.log.error(
      { network, tx_signature: reference, credited_usdc: formatUsdc(amount) },
      "a payment was credited with another amount than the chain reports; nothing was changed",
    );
  }
}

function referencesOf(judged: readonly JudgedPayment[], statuses: readonly FinalityStatus[]): string[] {
  return judged.filter(({ status }) => statuses.includes(status)).map(({ payment }) => payment.reference);
}
