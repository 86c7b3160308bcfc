import type { MicroUsd } from "../../domain/core/money.ts";
import { Reconciliation, type ReconcileDeps } from "./reconciliation.ts";
import { newSettledTransactions, type NewRecord } from "./record-history.ts";
import { rescanHistory } from "./rescan-history.ts";
import { watchTreasury } from "./watch-treasury.ts";

/** How often the balances are compared while transfers arrive. */
const COMPARISONS = 10;

/**
 * Records what the treasury did since the restored moment as the treasury watch does, and then the whole
 * history of each endpoint.
 * @returns the new records, and chain minus ledger, micro-USD
 * @throws ToolgateError UNAVAILABLE; Error when transfers keep arriving
 */
export async function reconcileRestored(
  deps: ReconcileDeps,
  signal: AbortSignal,
): Promise<{ records: NewRecord[]; difference: MicroUsd }> {
  const records = await watchTreasury(deps, signal);
  for (let firstEndpoint = 0; firstEndpoint < deps.chain.endpoints; firstEndpoint++)
    records.push(
      ...(await rescanHistory({ ...deps, settled: newSettledTransactions() }, { firstEndpoint }, signal)),
    );
  const reconciliation = new Reconciliation(deps);
  for (let turn = 0; turn < COMPARISONS; turn++) {
    const difference = await reconciliation.run(signal);
    if (difference !== undefined) return { records, difference };
  }
  throw new Error("the treasury's balance changed at each comparison; run after-restore again");
}
