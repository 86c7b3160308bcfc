import { setTimeout as sleep } from "node:timers/promises";
import { type MicroUsd, formatUsdc } from "../../domain/core/money.ts";
import type {
  HistoryEntry,
  TreasuryChain,
  TreasuryLedger,
  WatchState,
  HistoryQuery,
} from "../treasury/treasury-ledger.ts";
import type { Clock } from "../../domain/core/clock.ts";
import { type Events, OPERATORS } from "../webhooks/webhook-endpoints.ts";
import { recordHistory, type NewRecord, type RecordDeps, newSettledTransactions } from "./record-history.ts";
import { FinalityTracker, type FinalityDeps } from "./finality-tracker.ts";

/** Tolerance before the installation time, ms: the cluster's clock drifts. */
const DRIFT_MS = 300_000;

/** Entries after which the watch advances, so that a long backlog is not read again after a failure. */
const PART = 1_000;

interface WatchDeps extends RecordDeps {
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
async function watchStartTime(ledger: Pick<TreasuryLedger, "installedAt">): Promise<Date> {
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

/** Maximum lag between two nodes, ms. */
const LAG_MS = 30_000;

interface RescanDeps extends WatchDeps {
  readonly chain: WatchDeps["chain"] & Pick<TreasuryChain, "endpoints">;
  readonly clock: Clock;
}

interface RescanRange extends Pick<HistoryQuery, "firstEndpoint"> {
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

/** Consecutive runs with a difference before it is reported: nodes may lag behind each other. */
const IN_A_ROW = 3;

/** Minimum interval between two reads of the whole history, ms. */
const WHOLE_HISTORY_MS = 3_600_000;

interface ReconcileDeps extends RescanDeps {
  readonly chain: RescanDeps["chain"] & Pick<TreasuryChain, "balance">;
  readonly events: Pick<Events, "addDaily">;
}

/** Compares the treasury's balance on the chain with the ledger. */
export class Reconciliation {
  readonly #deps: ReconcileDeps;
  #seen = 0;
  #reported: MicroUsd = 0n;
  #readWholeAt = Number.NEGATIVE_INFINITY;
  #rescans = 0;

  constructor(deps: ReconcileDeps) {
    this.#deps = deps;
  }

  /**
   * Compares once. Reports a persistent difference and reads the whole history again from another node, at
   * most once an hour.
   * @returns chain minus ledger, micro-USD; undefined when money moved in the meantime
   */
  async run(signal: AbortSignal): Promise<MicroUsd | undefined> {
    const difference = await this.#difference(signal);
    signal.throwIfAborted();
    if (difference === undefined) return undefined;
    this.#deps.metrics.set("toolgate_treasury_difference_microusd", Number(difference));
    this.#seen = difference === 0n ? 0 : this.#seen + 1;
    if (difference === 0n || this.#seen >= IN_A_ROW) await this.#report(difference);
    if (this.#seen >= IN_A_ROW) await this.#readWhole(signal);
    return difference;
  }

  async #difference(signal: AbortSignal): Promise<MicroUsd | undefined> {
    const { ledger, chain } = this.#deps;
    const before = await ledger.watch(chain.tokenAccount);
    const balance = await chain.balance(signal);
    const news = await watchTreasury(this.#deps, signal);
    const after = await ledger.watch(chain.tokenAccount);
    if (!before || !after || news.length > 0 || moved(before, after)) return undefined;
    return balance - after.expected;
  }

  async #report(difference: MicroUsd): Promise<void> {
    if (difference === this.#reported) return;
    const { log, events } = this.#deps;
    const details = { difference_usdc: formatUsdc(difference) };
    if (difference === 0n) log.info(details, "treasury balance matches the ledger");
    else {
      log.error(details, "treasury balance differs from the ledger");
      const data = { difference_usdc_microusd: Number(difference) };
      await events.addDaily(OPERATORS, "treasury.difference", data, String(difference));
    }
    this.#reported = difference;
  }

  async #readWhole(signal: AbortSignal): Promise<void> {
    const now = this.#deps.clock.now();
    if (now - this.#readWholeAt < WHOLE_HISTORY_MS) return;
    this.#readWholeAt = now;
    this.#rescans += 1;
    // Ignores the cache, so that everything is checked again.
    await rescanHistory(
      { ...this.#deps, settled: newSettledTransactions() },
      { firstEndpoint: this.#rescans },
      signal,
    );
  }
}

function moved(before: WatchState, after: WatchState): boolean {
  return before.slot !== after.slot || before.expected !== after.expected;
}

/** How often the balances are compared while transfers arrive. */
const COMPARISONS = 10;

/** How often, ms, and how long payments are tracked that were credited before they were final, in runs. */
const [TRACK_MS, TRACKS] = [2_500, 240];

interface RestoreDeps extends ReconcileDeps, FinalityDeps {
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
