import { bestMatch, matchDeposit, depositStatus } from "../../domain/deposits/deposit.ts";
import type {
  Candidate,
  TransactionEffect,
  Deposit,
  DepositMatch,
  DepositStatus,
} from "../../domain/deposits/deposit.ts";
import { Lru } from "../../domain/core/lru.ts";
import { depositMemo } from "../../domain/payments/memo.ts";
import type { Clock } from "../../domain/core/clock.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { unlessAborted } from "../../domain/core/unless-aborted.ts";
import type { DepositChain, Deposits } from "./deposits.ts";

interface PollDeps {
  readonly chain: DepositChain;
  readonly memoPrefix: string;
  readonly effects: EffectCache;
}

/** Effects of transactions by signature. They do not change. */
type EffectCache = Lru<string, TransactionEffect>;

/** Capacity of the cache; an entry has about 200 bytes. */
const REMEMBERED = 2_000;

export function newEffectCache(): EffectCache {
  return new Lru(REMEMBERED);
}

/**
 * Finds a deposit's transaction: the known one or, unless that pays, those that name the reference.
 * @returns null when there is none
 * @throws ToolgateError UNAVAILABLE when the network cannot answer; the signal's reason when it aborts
 */
async function pollDeposit(
  deps: PollDeps,
  deposit: Deposit,
  signal: AbortSignal,
): Promise<DepositMatch | null> {
  const { depositId, txSignature, reference } = deposit;
  const memo = depositMemo(depositId, deps.memoPrefix);
  const judge = async (candidate: Candidate, sent: boolean) =>
    matchDeposit(candidate, await readingOf(deps, candidate, signal), { memo, sent });

  const known = txSignature === undefined ? undefined : await deps.chain.find(txSignature, signal);
  const first = known && (await judge(known, true));
  if (first?.kind === "pays") return first;
  const candidates = await deps.chain.findByReference(reference, signal);
  const others = candidates.filter((candidate) => candidate.txSignature !== txSignature);
  const matches = await Promise.all(others.map((candidate) => judge(candidate, false)));
  return bestMatch([first, ...matches].filter((match) => match !== undefined)) ?? null;
}

async function readingOf(
  { chain, effects }: PollDeps,
  { txSignature, stage }: Candidate,
  signal: AbortSignal,
): Promise<TransactionEffect | undefined> {
  // Nodes return a transaction only after the cluster voted for it.
  if (stage === "seen") return undefined;
  const known = effects.get(txSignature);
  if (known) return known;
  const reading = await chain.effect(txSignature, signal);
  if (!reading) return undefined;
  const { change, memo } = reading;
  // A failed transaction may still succeed on another fork.
  if (change > 0n || stage === "finalized") effects.set(txSignature, { change, memo });
  return reading;
}

/** Minimum interval between two polls of one deposit, ms. */
const PACE_MS = 1_000;
/** Time limit of a poll, ms. After it, callers get the last known status. */
const POLL_LIMIT_MS = 4_000;
const CACHED = 2_000;

interface DepositTrackerDeps extends PollDeps {
  readonly deposits: Pick<Deposits, "find" | "recordTransaction">;
  /** Records a finalized transaction as the treasury watch does. @throws when it cannot be recorded now */
  readonly record: (txSignature: string, signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
}

export interface TrackedDeposit {
  readonly deposit: Deposit;
  readonly status: DepositStatus;
}

interface Poll {
  /** Start of the poll, ms. */
  readonly at: number;
  /** Null: nothing found; undefined: the network did not answer. */
  readonly match: DepositMatch | null | undefined;
}

/** Polls the chain for the status of deposits, at most once a second for each deposit. */
export class DepositTracker {
  readonly #deps: DepositTrackerDeps;
  readonly #last = new Lru<string, Poll>(CACHED);
  readonly #polls = new Map<string, Promise<void>>();

  constructor(deps: DepositTrackerDeps) {
    this.#deps = deps;
  }

  /** Returns the status of the last poll on this instance. */
  lastKnown(deposit: Deposit): TrackedDeposit {
    return { deposit, status: depositStatus(deposit, this.#last.get(deposit.depositId)?.match) };
  }

  /**
   * Returns the current status, or the last known one when the network does not answer.
   * @throws the signal's reason when it aborts
   */
  async poll(deposit: Deposit, signal: AbortSignal): Promise<TrackedDeposit> {
    const { depositId, accountId, credited } = deposit;
    if (credited > 0n || this.#isFresh(depositId)) return this.lastKnown(deposit);
    const polling =
      this.#polls.get(depositId) ?? this.#poll(deposit).finally(() => this.#polls.delete(depositId));
    this.#polls.set(depositId, polling);
    // The caller may have left.
    polling.catch(() => {});
    await unlessAborted(polling, signal);
    return this.lastKnown((await this.#deps.deposits.find(accountId, depositId)) ?? deposit);
  }

  /** Results are stale after the clock was set back. */
  #isFresh(depositId: string): boolean {
    const last = this.#last.get(depositId);
    const age = this.#deps.clock.now() - (last?.at ?? Number.NEGATIVE_INFINITY);
    return !this.#polls.has(depositId) && age >= 0 && age < PACE_MS;
  }

  /** Never rejects because of the network. */
  async #poll(deposit: Deposit): Promise<void> {
    const { depositId, txSignature } = deposit;
    const at = this.#deps.clock.now();
    const patience = AbortSignal.timeout(POLL_LIMIT_MS);
    const match = await pollDeposit(this.#deps, deposit, patience).catch((error: unknown) => {
      if (error instanceof ToolgateError || patience.aborted) return undefined;
      throw error;
    });
    this.#last.set(depositId, { at, match: match === undefined ? this.#last.get(depositId)?.match : match });
    if (!match) return;
    if (match.txSignature !== txSignature)
      await this.#deps.deposits.recordTransaction(depositId, match.txSignature);
    if (match.kind === "pays" && match.stage === "finalized") await this.#record(match.txSignature, patience);
  }

  /** Ignores failures: the treasury watch records the transaction and logs what prevents it. */
  async #record(txSignature: string, patience: AbortSignal): Promise<void> {
    await this.#deps.record(txSignature, patience).catch(() => {});
  }
}
