import type { TreasuryBooks, TreasuryChain, WatchState } from "../treasury-ports.ts";
import { recordHistory, type NewRecord, type RecordDeps } from "./record-history.ts";

/** How much earlier than the installation's first minute a payment may be stamped, ms: the cluster's clock drifts. */
const DRIFT_MS = 300_000;

/** What the watch needs. */
export interface WatchDeps extends RecordDeps {
  readonly chain: Pick<TreasuryChain, "tokenAccount" | "movement" | "history">;
  readonly books: Pick<
    TreasuryBooks,
    "unrecorded" | "record" | "installedAt" | "watch" | "beginWatch" | "advanceWatch"
  >;
}

/**
 * One look at the treasury's finalized history: everything since the last look is recorded, then the watch moves on. What fails or
 * dies in between is done again by the next look, here or elsewhere.
 * @returns what was new
 */
export async function watchTreasury(deps: WatchDeps, signal: AbortSignal): Promise<NewRecord[]> {
  const { books, chain } = deps;
  const fromTime = await watchedSince(books);
  const { slot } = (await books.watch(chain.tokenAccount)) ?? (await begin(deps, fromTime, signal));
  // From the last look's slot on, and not after it: a node may have told a slot in part.
  const { entries } = await chain.history({ fromSlot: slot, fromTime, turn: 0, signal });
  const records = await recordHistory(deps, entries, signal);
  signal.throwIfAborted();
  await books.advanceWatch(chain.tokenAccount, entries.at(-1)?.slot ?? slot);
  return records;
}

/** From when on the treasury's history is ours: no quote is older, whatever reached the treasury before is the operator's. */
export async function watchedSince(books: Pick<TreasuryBooks, "installedAt">): Promise<Date> {
  return new Date((await books.installedAt()).getTime() - DRIFT_MS);
}

async function begin(deps: WatchDeps, fromTime: Date, signal: AbortSignal): Promise<Pick<WatchState, "slot">> {
  const { books, chain } = deps;
  const { before } = await chain.history({ fromSlot: 0n, fromTime, turn: 0, signal });
  // Where nothing is older than the installation, the account began with nothing.
  const amount = before ? (await chain.movement(before.txSignature, signal)).balanceAfter : 0n;
  const opening = { amount, slot: before?.slot ?? 0n };
  await books.beginWatch(chain.tokenAccount, opening);
  return opening;
}
