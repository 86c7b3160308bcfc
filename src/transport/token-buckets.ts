import type { Clock } from "../domain/core/clock.ts";
import { Lru } from "../domain/core/lru.ts";
import type { RateDecision, RateTier } from "../domain/accounts/rate-limit.ts";

/** Evicts the least recently used bucket above this number. */
const MAX_BUCKETS = 10_000;

/** In-memory token buckets per instance, by the generic cell rate algorithm (ITU-T I.371). */
export class TokenBuckets {
  readonly #clock: Clock;
  readonly #tier: RateTier;
  /** By key: when the bucket is full again, ms. */
  readonly #fullAt = new Lru<string, number>(MAX_BUCKETS);

  constructor(clock: Clock, tier: RateTier) {
    this.#clock = clock;
    this.#tier = tier;
  }

  /** Refill interval, ms. */
  get #intervalMs(): number {
    return 60_000 / this.#tier.ratePerMinute;
  }

  /** Returns the refusal when the bucket is empty, otherwise undefined. */
  refusal(name: string): RateDecision | undefined {
    if (this.#fullAt.get(name) === undefined) return undefined;
    const decision = this.#decision(name);
    return decision.allowed ? undefined : decision;
  }

  /** Takes a token. An empty bucket never goes below zero. */
  count(name: string): void {
    const now = this.#clock.now();
    const fullAt = this.#current(name, now) + this.#intervalMs;
    this.#fullAt.set(name, Math.min(fullAt, now + this.#tier.burst * this.#intervalMs));
  }

  /** Returns tokens to the bucket, at most until it is full. */
  giveBack(name: string, tokens: number): void {
    const fullAt = this.#fullAt.get(name);
    if (fullAt !== undefined) this.#fullAt.set(name, fullAt - tokens * this.#intervalMs);
  }

  /** Takes a token if there is one, and returns the decision. */
  take(name: string): RateDecision {
    const refusal = this.refusal(name);
    if (refusal) return refusal;
    this.count(name);
    return { ...this.#decision(name), allowed: true, retryAfterSeconds: 0 };
  }

  #decision(name: string): RateDecision {
    const { burst, ratePerMinute } = this.#tier;
    const now = this.#clock.now();
    const fullAt = this.#current(name, now);
    const remaining = Math.floor((now + burst * this.#intervalMs - fullAt) / this.#intervalMs);
    const waitMs = fullAt + this.#intervalMs - burst * this.#intervalMs - now;
    return {
      allowed: waitMs <= 0,
      limit: ratePerMinute,
      remaining: Math.max(0, remaining),
      resetAt: Math.ceil(fullAt / 1000),
      retryAfterSeconds: Math.max(0, Math.ceil(waitMs / 1000)),
    };
  }

  /** When the bucket is full again; bounded, in case the clock was set back. */
  #current(name: string, now: number): number {
    const fullAt = Math.max(this.#fullAt.get(name) ?? now, now);
    const latest = now + this.#tier.burst * this.#intervalMs;
    if (fullAt <= latest) return fullAt;
    this.#fullAt.set(name, latest);
    return latest;
  }
}
