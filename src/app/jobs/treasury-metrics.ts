import type { Clock } from "../../domain/core/clock.ts";
import type { Metrics } from "../operations/metrics.ts";
import type { TreasuryLedger } from "../treasury/treasury-ledger.ts";
import type { TreasuryChain } from "../treasury/treasury-chain.ts";

export interface TreasuryMetricsDeps {
  readonly chain: Pick<TreasuryChain, "tokenAccount">;
  readonly ledger: Pick<TreasuryLedger, "installedAt" | "watch" | "suspended">;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** Reports the treasury's metrics. Runs on every instance, so that they exist without a leader. */
export async function reportTreasuryMetrics(
  { chain, ledger, clock, metrics }: TreasuryMetricsDeps,
  signal: AbortSignal,
): Promise<void> {
  const [watch, suspended] = await Promise.all([ledger.watch(chain.tokenAccount), ledger.suspended()]);
  // Before the first watch, its age is that of the installation.
  const checkedAt = watch?.checkedAt ?? (await ledger.installedAt());
  signal.throwIfAborted();
  metrics.set("toolgate_watch_age_seconds", Math.max(0, clock.now() - checkedAt.getTime()) / 1_000);
  metrics.set("toolgate_suspense_transfers", suspended.count);
  metrics.set("toolgate_suspense_microusd", Number(suspended.amount));
}
