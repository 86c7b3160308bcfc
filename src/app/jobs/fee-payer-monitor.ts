import type { Metrics } from "../operations/metrics.ts";
import type { RelayClaims } from "../payments/gasless/relay-claims.ts";
import type { RelayChain } from "../payments/gasless/relay-chain.ts";
import type { Log } from "../../domain/core/log.ts";

export interface FeePayerMonitorDeps {
  readonly relay: { readonly feePayer: string };
  readonly claims: Pick<RelayClaims, "spentToday">;
  readonly chain: Pick<RelayChain, "balance">;
  /** GASLESS_LOW_LAMPORTS */
  readonly lowLamports: bigint;
  readonly metrics: Metrics;
  readonly log: Log;
}

/**
 * Reports the relay's spending of today and the fee payer's balance, and warns once when the balance is
 * low.
 */
export class FeePayerMonitor {
  readonly #deps: FeePayerMonitorDeps;
  #low = false;

  constructor(deps: FeePayerMonitorDeps) {
    this.#deps = deps;
  }

  async check(signal: AbortSignal): Promise<void> {
    const { relay, claims, chain, metrics } = this.#deps;
    metrics.set("toolgate_relay_lamports_today", Number(await claims.spentToday()));
    const lamports = await chain.balance(relay.feePayer, signal);
    signal.throwIfAborted();
    metrics.set("toolgate_fee_payer_lamports", Number(lamports));
    this.#report(lamports);
  }

  #report(lamports: bigint): void {
    const { relay, lowLamports, log } = this.#deps;
    const low = lamports < lowLamports;
    if (low === this.#low) return;
    this.#low = low;
    const details = {
      fee_payer: relay.feePayer,
      lamports: Number(lamports),
      low_lamports: Number(lowLamports),
    };
    if (low)
      log.warn(details, "the fee payer's SOL is low: send it some, or no more payments can be relayed");
    else log.info(details, "the fee payer holds enough SOL again");
  }
}
