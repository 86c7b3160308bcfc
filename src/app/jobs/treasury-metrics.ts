import type { Clock } from "../../domain/core/clock.ts";
import type { Metrics } from "../operations/metrics.ts";
import type { TreasuryLedger } from "../treasury/treasury-ledger.ts";
import type { TreasuryChain } from "../treasury/treasury-chain.ts";

/** What the figures are made of. */
export interface TreasuryMetricsDeps {
  readonly chain: Pick<TreasuryChain, "tokenAccount">;
  readonly ledger: Pick<TreasuryLedger, "installedAt" | "watch" | "suspended">;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** Tells what the books say of the treasury's state. Every instance does, so that it is told also when none of them leads. */
export async function reportTreasuryMetrics(
  { chain, ledger, clock, metrics }: TreasuryMetricsDeps,
  signal: AbortSignal,
): Promise<void> {
  const [watch, suspended] = await Promise.all([ledger.watch(chain.tokenAccount), ledger.suspended()]);
  // A watch that has not begun is as old as the installation.
  const lookedAt = watch?.checkedAt ?? (await ledger.installedAt());
  signal.throwIfAborted();
  metrics.set("toolgate_watch_age_seconds", Math.max(0, clock.now() - lookedAt.getTime()) / 1_000);
  metrics.set("toolgate_suspense_transfers", suspended.count);
  metrics.set("toolgate_suspense_microusd", Number(suspended.amount));
}
