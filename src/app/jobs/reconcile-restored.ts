import { setTimeout as sleep } from "node:timers/promises";
import type { MicroUsd } from "../../domain/core/money.ts";
import { FinalityTracker, type FinalityDeps } from "./finality-tracker.ts";
import { Reconciliation, type ReconcileDeps } from "./reconciliation.ts";
import { newSettledTransactions, type NewRecord } from "./record-history.ts";
import { rescanHistory } from "./rescan-history.ts";
import { watchTreasury } from "./watch-treasury.ts";

/** How often the balances are compared while transfers arrive. */
const COMPARISONS = 10;

/** How often, ms, and how long payments are tracked that were credited before they were final, in runs. */
const [TRACK_MS, TRACKS] = [2_500, 240];

export interface RestoreDeps extends ReconcileDeps, FinalityDeps {
  readonly ledger: ReconcileDeps["ledger"] & FinalityDeps["ledger"];
}

/**
 * Records what the treasury did since the restored moment as the treasury watch does, and then the whole
 * history of each endpoint. Waits until payments that were credited before they were final are so or are
 * reversed: they may have vanished since.
 * @returns the new records, and chain minus ledger, micro-USD
 * @throws ToolgateError UNAVAILABLE; Error when transfers keep arriving
 */
export async function reconcileRestored(
  deps: RestoreDeps,
  signal: AbortSignal,
): Promise<{ records: NewRecord[]; difference: MicroUsd }> {
  const records = await watchTreasury(deps, signal);
  for (let firstEndpoint = 0; firstEndpoint < deps.chain.endpoints; firstEndpoint++)
    records.push(
      ...(await rescanHistory({ ...deps, settled: newSettledTransactions() }, { firstEndpoint }, signal)),
    );
  await trackToTheEnd(deps, signal);
  const reconciliation = new Reconciliation(deps);
  for (let turn = 0; turn < COMPARISONS; turn++) {
    const difference = await reconciliation.run(signal);
    if (difference !== undefined) return { records, difference };
  }
  throw new Error("the treasury's balance changed at each comparison; run after-restore again");
}

async function trackToTheEnd(deps: RestoreDeps, signal: AbortSignal): Promise<void> {
  const finality = new FinalityTracker(deps);
  const query = { minAgeMs: 0, limit: 1 };
  const isOpen = async (network: string) => (await deps.ledger.unfinalized({ ...query, network })).length > 0;
  for (let turn = 0; turn < TRACKS; turn++) {
    if (turn > 0) await sleep(TRACK_MS, undefined, { signal });
    await finality.run(signal);
    if (!(await Promise.all([...deps.networks.keys()].map(isOpen))).includes(true)) return;
  }
}
