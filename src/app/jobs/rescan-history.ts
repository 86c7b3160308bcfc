import type { Clock } from "../../domain/core/clock.ts";
import type { HistoryQuery, TreasuryChain } from "../treasury/treasury-chain.ts";
import { recordHistory, type NewRecord } from "./record-history.ts";
import { watchStartTime, type WatchDeps } from "./watch-treasury.ts";

/** Maximum lag between two nodes, ms. */
const LAG_MS = 30_000;

export interface RescanDeps extends WatchDeps {
  readonly chain: WatchDeps["chain"] & Pick<TreasuryChain, "endpoints">;
  readonly clock: Clock;
}

export interface RescanRange extends Pick<HistoryQuery, "firstEndpoint"> {
  /** How far back, ms; undefined: everything. */
  readonly windowMs?: number;
}

/**
 * Reads known history again from another node, since nodes sometimes omit entries silently. Records what is
 * missing and logs it when the watch should have seen it.
 * @returns the new records
 */
export async function rescanHistory(
  deps: RescanDeps,
  rescan: RescanRange,
  signal: AbortSignal,
): Promise<NewRecord[]> {
  const { ledger, chain, clock } = deps;
  const watch = await ledger.watch(chain.tokenAccount);
  if (!watch) return [];
  const since = await watchStartTime(ledger);
  const { windowMs = Number.POSITIVE_INFINITY, firstEndpoint } = rescan;
  const fromTime = new Date(Math.max(since.getTime(), clock.now() - windowMs));
  const { entries } = await chain.history({ fromSlot: 0n, fromTime, firstEndpoint, signal });
  const records = await recordHistory(deps, entries, signal);
  const overdue = clock.now() - LAG_MS;
  const missed = records.filter(
    ({ entry: { slot, blockTime } }) =>
      slot < watch.slot || (blockTime !== undefined && blockTime.getTime() < overdue),
  );
  if (missed.length > 0) reportMissed(deps, missed, firstEndpoint);
  return records;
}

function reportMissed({ chain, log }: RescanDeps, missed: readonly NewRecord[], endpoint: number): void {
  const endpoints = chain.endpoints;
  log.warn(
    {
      tx_signatures: missed.slice(0, 10).map(({ entry }) => entry.txSignature),
      count: missed.length,
      found_at_endpoint: (endpoint % endpoints) + 1,
      endpoints,
    },
    "the first of SOLANA_RPC_URLS omits transactions of the treasury; they were recorded from another " +
      "endpoint. Replace it if this happens again",
  );
}
