import type { MicroUsd } from "../../domain/core/money.ts";
import type { HistoryEntry, TreasuryChain } from "../treasury/treasury-chain.ts";
import type { TreasuryLedger, WatchState } from "../treasury/treasury-ledger.ts";
import { recordHistory, type NewRecord, type RecordDeps } from "./record-history.ts";

/** Tolerance before the installation time, ms: the cluster's clock drifts. */
const DRIFT_MS = 300_000;

/** Entries after which the watch advances, so that a long backlog is not read again after a failure. */
const PART = 1_000;

export interface WatchDeps extends RecordDeps {
  readonly chain: Pick<TreasuryChain, "tokenAccount" | "movement" | "history">;
  readonly ledger: Pick<
    TreasuryLedger,
    "unrecorded" | "record" | "installedAt" | "watch" | "startWatch" | "advanceWatch"
  >;
}

/**
 * Records the treasury's finalized history since the last run, then advances the watch. A failed run is
 * repeated by the next one, on any instance.
 * @returns the new records
 */
export async function watchTreasury(deps: WatchDeps, signal: AbortSignal): Promise<NewRecord[]> {
  const { ledger, chain } = deps;
  const fromTime = await watchStartTime(ledger);
  const { slot } = (await ledger.watch(chain.tokenAccount)) ?? (await startWatch(deps, fromTime, signal));
  // Includes the slot of the last run: a node may have returned that slot in part.
  const { entries } = await chain.history({ fromSlot: slot, fromTime, firstEndpoint: 0, signal });
  const records = await recordParts(deps, entries, signal);
  signal.throwIfAborted();
  await ledger.advanceWatch(chain.tokenAccount, entries.at(-1)?.slot ?? slot);
  return records;
}

/** Records in parts and advances the watch after each but the last, until a part fails. */
async function recordParts(
  deps: WatchDeps,
  entries: readonly HistoryEntry[],
  signal: AbortSignal,
): Promise<NewRecord[]> {
  const records: NewRecord[] = [];
  const failures: unknown[] = [];
  for (let at = 0; at < entries.length; at += PART) {
    const [part, more] = [entries.slice(at, at + PART), at + PART < entries.length];
    try {
      records.push(...(await recordHistory(deps, part, signal)));
    } catch (error) {
      signal.throwIfAborted();
      failures.push(error);
    }
    const last = part.at(-1);
    if (last && more && failures.length === 0)
      await deps.ledger.advanceWatch(deps.chain.tokenAccount, last.slot, false);
  }
  if (failures.length === 0) return records;
  throw failures.length === 1
    ? failures[0]
    : new AggregateError(failures, `${failures.length} parts of the history could not be recorded`);
}

/** Start of the watched history: no quote is older, and earlier transfers are the operator's. */
export async function watchStartTime(ledger: Pick<TreasuryLedger, "installedAt">): Promise<Date> {
  return new Date((await ledger.installedAt()).getTime() - DRIFT_MS);
}

async function startWatch(
  deps: WatchDeps,
  fromTime: Date,
  signal: AbortSignal,
): Promise<Pick<WatchState, "slot">> {
  const { ledger, chain } = deps;
  const { entries, before } = await chain.history({ fromSlot: 0n, fromTime, firstEndpoint: 0, signal });
  const amount = before
    ? (await chain.movement(before.txSignature, signal)).balanceAfter
    : await balanceBefore(chain, entries[0], signal);
  const opening = { amount, slot: before?.slot ?? 0n };
  await ledger.startWatch(chain.tokenAccount, opening);
  return opening;
}

/** Balance before the first known entry. Not zero if a node has pruned older entries. */
async function balanceBefore(
  chain: WatchDeps["chain"],
  first: HistoryEntry | undefined,
  signal: AbortSignal,
): Promise<MicroUsd> {
  if (!first) return 0n;
  const { balanceAfter, change } = await chain.movement(first.txSignature, signal);
  return balanceAfter - change;
}
