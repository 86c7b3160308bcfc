import type { Clock } from "../domain/clock.ts";
import { Lru } from "../domain/lru.ts";

/** Accounts that a server must refuse before a model is asked for by none. */
const ACCOUNTS_TO_PAUSE = 3;

/** Pairs of account and model that are remembered. */
const MAX_PAUSES = 10_000;

/**
 * Until when a model is not asked for, because its server said so (429, 503). A conversation can be what a server refuses, so it counts for
 * the account at once, and for all only when several accounts were refused during one pause.
 */
export class ModelBackoff {
  readonly #clock: Clock;
  readonly #own = new Lru<string, number>(MAX_PAUSES);
  readonly #all = new Map<string, { until: number; readonly accounts: Set<string> }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds until the account may ask for the model; 0: now. */
  waitMs(accountId: string, model: string): number {
    const all = this.#all.get(model);
    const forAll = all && all.accounts.size >= ACCOUNTS_TO_PAUSE ? all.until : 0;
    return Math.max(
      0,
      (this.#own.get(`${accountId} ${model}`) ?? 0) - this.#clock.now(),
      forAll - this.#clock.now(),
    );
  }

  /** The server asked to be left alone for so long. */
  add(accountId: string, model: string, ms: number): void {
    const now = this.#clock.now();
    this.#own.set(`${accountId} ${model}`, now + ms);
    const before = this.#all.get(model);
    const all = before && before.until > now ? before : { until: now, accounts: new Set<string>() };
    all.until = Math.max(all.until, now + ms);
    if (all.accounts.size < ACCOUNTS_TO_PAUSE) all.accounts.add(accountId);
    this.#all.set(model, all);
  }
}
