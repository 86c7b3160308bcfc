import { Lru } from "../domain/lru.ts";
import type { RateDecision, RateTier } from "../domain/rate-limit.ts";

const SECOND_US = 1_000_000;

/** How long tokens that were taken ahead are good, and what a key's pace is measured by, ms. */
const WINDOW_MS = 100;

/** What is taken ahead: of what a key took in the window before, and of its burst, these shares at most, and no more than so many. */
const [OF_PACE, OF_BURST, MOST] = [1 / 8, 1 / 100, 128];

/** Keys at most whose pace is known. */
const MAX_KEYS = 10_000;

/** What a bucket gave in one statement. Microseconds are numbers: exact until the year 2255. */
export interface Given {
  readonly granted: number;
  /** When the bucket is full again, with all of them taken. */
  readonly tatUs: number;
  /** The database's time. */
  readonly nowUs: number;
}

/** Tokens of one key, spent one after the other. */
export class Grant {
  readonly tier: RateTier;
  readonly given: Given;
  #spent = 0;

  constructor(tier: RateTier, given: Given) {
    this.tier = tier;
    this.given = given;
  }

  /** Lets one request through; what it tells is what was left of the bucket after it. Undefined: all are spent. */
  spend(): RateDecision | undefined {
    const { tier, given } = this;
    if (this.#spent >= given.granted) return undefined;
    const after = given.granted - ++this.#spent;
    const period = interval(tier);
    const tatUs = given.tatUs - after * period;
    return {
      allowed: true,
      limit: tier.ratePerMinute,
      remaining: tier.burst - Math.ceil((tatUs - given.nowUs) / period),
      resetAt: Math.ceil(tatUs / SECOND_US),
      retryAfterSeconds: 0,
    };
  }
}

/** Microseconds between two tokens. */
export function interval({ ratePerMinute }: RateTier): number {
  return Math.floor((60 * SECOND_US) / ratePerMinute);
}

/** One key's pace, and what was taken ahead for it. */
interface Use {
  sinceMs: number;
  /** Takes since then, and in the window before. */
  takes: number;
  before: number;
  grant?: Grant;
  grantedMs: number;
}

/**
 * Tokens that were taken from buckets before they are asked for: a key that is used all the time need not ask the database each time. They
 * are out of the bucket, so no more is ever granted than it holds; what is not asked for within a tenth of a second is lost, at most an
 * eighth of what the key took in such a time and a hundredth of its burst. Keys that are used less than eighty times a second, or may not
 * be used a hundred times at once, ask each time.
 */
export class TokensAhead {
  readonly #uses = new Lru<string, Use>(MAX_KEYS);

  /** Counts a take, and spends a token that there is for it. Undefined: ask the bucket. */
  take(keyId: string, tier: RateTier, nowMs: number): RateDecision | undefined {
    const use = this.#uses.get(keyId);
    if (!use) {
      this.#uses.set(keyId, { sinceMs: nowMs, takes: 1, before: 0, grantedMs: nowMs });
      return undefined;
    }
    const age = nowMs - use.sinceMs;
    if (!(age >= 0 && age < WINDOW_MS)) {
      use.before = age >= 0 && age < 2 * WINDOW_MS ? use.takes : 0;
      use.takes = 0;
      use.sinceMs = nowMs;
    }
    use.takes++;
    return spendOf(use, tier, nowMs);
  }

  /** The same for a take that was counted, and has waited since. */
  spend(keyId: string, tier: RateTier, nowMs: number): RateDecision | undefined {
    const use = this.#uses.get(keyId);
    return use && spendOf(use, tier, nowMs);
  }

  /** How many tokens to take beyond those that are asked for. */
  worth(keyId: string, { burst }: RateTier): number {
    const before = this.#uses.get(keyId)?.before ?? 0;
    return Math.trunc(Math.min(before * OF_PACE, burst * OF_BURST, MOST));
  }

  /** Keeps what is left of a grant. */
  keep(keyId: string, grant: Grant, nowMs: number): void {
    const use = this.#uses.get(keyId);
    if (!use) return;
    use.grant = grant;
    use.grantedMs = nowMs;
  }
}

function spendOf(use: Use, tier: RateTier, nowMs: number): RateDecision | undefined {
  const { grant } = use;
  if (!grant) return undefined;
  const age = nowMs - use.grantedMs;
  const good =
    age >= 0 && age < WINDOW_MS && grant.tier.ratePerMinute === tier.ratePerMinute && grant.tier.burst === tier.burst;
  const decision = good ? grant.spend() : undefined;
  if (!decision) delete use.grant;
  return decision;
}
