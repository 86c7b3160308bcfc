import type { Clock } from "../domain/core/clock.ts";
import { Lru } from "../domain/core/lru.ts";

/** Number of refused accounts from which a model is paused for everyone. */
const ACCOUNTS_TO_PAUSE = 3;

/** Cached pairs of account and model. */
const MAX_PAUSES = 10_000;

/**
 * Backoff per model after 429 or 503. A server may refuse a single conversation, so a refusal pauses its
 * account at once, and all accounts only after several were refused.
 */
export class ModelBackoff {
  readonly #clock: Clock;
  readonly #own = new Lru<string, number>(MAX_PAUSES);
  readonly #all = new Map<string, { until: number; readonly accounts: Set<string> }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds until the account may call the model; 0: now. */
  waitMs(accountId: string, model: string): number {
    const all = this.#all.get(model);
    const forAll = all && all.accounts.size >= ACCOUNTS_TO_PAUSE ? all.until : 0;
    return Math.max(
      0,
      (this.#own.get(`${accountId} ${model}`) ?? 0) - this.#clock.now(),
      forAll - this.#clock.now(),
    );
  }

  /** Records a refusal with its `Retry-After`, ms. */
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
