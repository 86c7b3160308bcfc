import type { Clock } from "../../domain/core/clock.ts";
import {
  depositStatus,
  type Deposit,
  type DepositStatus,
  type DepositMatch,
} from "../../domain/deposits/deposit.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { Lru } from "../../domain/core/lru.ts";
import type { Deposits } from "./deposits.ts";
import { pollDeposit, type PollDeps } from "./poll-deposit.ts";
import { unlessAborted } from "../../domain/core/unless-aborted.ts";

/** Shortest time between two looks at the chain for one deposit, ms. */
const PACE_MS = 1_000;
/** Longest time for a look, ms: who waits for it hears the last known state after that. */
const LOOK_MS = 4_000;
/** How many deposits' last looks are remembered. */
const REMEMBERED = 2_000;

/** What looking needs. */
export interface DepositTrackerDeps extends PollDeps {
  readonly deposits: Pick<Deposits, "find" | "recordTransaction">;
  /** Books a finalized transaction as the treasury's watch will. @throws when that cannot be done now */
  readonly record: (txSignature: string, signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
}

/** A deposit, and how it stands. */
export interface TrackedDeposit {
  readonly deposit: Deposit;
  readonly status: DepositStatus;
}

interface Look {
  /** When it began, ms. */
  readonly at: number;
  /** Null: nothing was there; undefined: the network did not tell. */
  readonly sighting: DepositMatch | null | undefined;
}

/** Tells how deposits stand, after a look at the chain. However many ask for one deposit, the network is asked once a second. */
export class DepositTracker {
  readonly #deps: DepositTrackerDeps;
  readonly #last = new Lru<string, Look>(REMEMBERED);
  readonly #looking = new Map<string, Promise<void>>();

  constructor(deps: DepositTrackerDeps) {
    this.#deps = deps;
  }

  /** How it stands as far as it was looked at here. */
  lastKnown(deposit: Deposit): TrackedDeposit {
    return { deposit, status: depositStatus(deposit, this.#last.get(deposit.depositId)?.sighting) };
  }

  /** How it stands by now; by the last look where the network does not tell. @throws the signal's reason when it aborts */
  async poll(deposit: Deposit, signal: AbortSignal): Promise<TrackedDeposit> {
    const { depositId, accountId, credited } = deposit;
    if (credited > 0n || this.#isFresh(depositId)) return this.lastKnown(deposit);
    const looking =
      this.#looking.get(depositId) ?? this.#look(deposit).finally(() => this.#looking.delete(depositId));
    this.#looking.set(depositId, looking);
    // Whoever asked may have gone.
    looking.catch(() => {});
    await unlessAborted(looking, signal);
    return this.lastKnown((await this.#deps.deposits.find(accountId, depositId)) ?? deposit);
  }

  /** A clock that was set back tells nothing of what was before. */
  #isFresh(depositId: string): boolean {
    const last = this.#last.get(depositId);
    const age = this.#deps.clock.now() - (last?.at ?? Number.NEGATIVE_INFINITY);
    return !this.#looking.has(depositId) && age >= 0 && age < PACE_MS;
  }

  /** Never fails for the network's sake. */
  async #look(deposit: Deposit): Promise<void> {
    const { depositId, txSignature } = deposit;
    const at = this.#deps.clock.now();
    const patience = AbortSignal.timeout(LOOK_MS);
    const sighting = await pollDeposit(this.#deps, deposit, patience).catch((error: unknown) => {
      if (error instanceof ToolgateError || patience.aborted) return undefined;
      throw error;
    });
    this.#last.set(depositId, {
      at,
      sighting: sighting === undefined ? this.#last.get(depositId)?.sighting : sighting,
    });
    if (!sighting) return;
    if (sighting.txSignature !== txSignature)
      await this.#deps.deposits.recordTransaction(depositId, sighting.txSignature);
    if (sighting.kind === "pays" && sighting.stage === "finalized")
      await this.#record(sighting.txSignature, patience);
  }

  /** What cannot be recorded now the watch records, and tells the operator what keeps it from it. */
  async #record(txSignature: string, patience: AbortSignal): Promise<void> {
    await this.#deps.record(txSignature, patience).catch(() => {});
  }
}
