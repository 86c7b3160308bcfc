import { Lru } from "../domain/lru.ts";
import type { RateDecision, RateTier } from "../domain/rate-limit.ts";

export const SECOND_US = 1_000_000;

/** How long tokens that were taken ahead are good, and what a key's pace is measured by, ms. */
const WINDOW_MS = 100;

/** What is taken ahead: of what a key asked for in the window before, and of what its bucket has left, these shares; and so many at most. */
const [OF_PACE, OF_LEFT, MOST] = [1 / 4, 1 / 100, 512];

/** Keys at most whose pace is known. */
const MAX_KEYS = 10_000;

/** What a bucket gave in one statement. Microseconds are numbers: exact until the year 2255. */
export interface BucketState {
  readonly granted: number;
  /** When the bucket is full again, with all of them taken. */
  readonly tatUs: number;
  /** The database's time. */
  readonly nowUs: number;
  /** The account's bucket, in the same form. `refused`: it held less than the key's. */
  readonly account: { readonly tier: RateTier; readonly tatUs: number; readonly refused: boolean };
}

/** Tokens of one key, spent one after the other. */
export class Grant {
  readonly tier: RateTier;
  readonly bucket: BucketState;
  #spent = 0;

  constructor(tier: RateTier, given: BucketState) {
    this.tier = tier;
    this.bucket = given;
  }

  /** Tokens that are not spent yet. */
  get left(): number {
    return this.bucket.granted - this.#spent;
  }

  /** How many both buckets hold besides. */
  get remaining(): number {
    const { tatUs, nowUs, account } = this.bucket;
    return Math.min(tokensIn(this.tier, tatUs - nowUs), tokensIn(account.tier, account.tatUs - nowUs));
  }

  /** Lets one request through; what it tells is what was left of the bucket after it. Undefined: all are spent. */
  spend(): RateDecision | undefined {
    if (this.left <= 0) return undefined;
    const { tier, bucket: given } = this;
    this.#spent++;
    const after = this.left;
    const period = tokenIntervalUs(tier);
    const tatUs = given.tatUs - after * period;
    return {
      allowed: true,
      limit: tier.ratePerMinute,
      remaining: tokensIn(tier, tatUs - given.nowUs),
      resetAt: Math.ceil(tatUs / SECOND_US),
      retryAfterSeconds: 0,
    };
  }
}

/** Tokens in a bucket that is full again after so many microseconds. */
function tokensIn(tier: RateTier, fullInUs: number): number {
  return tier.burst - Math.ceil(fullInUs / tokenIntervalUs(tier));
}

/** Microseconds between two tokens. */
export function tokenIntervalUs({ ratePerMinute }: RateTier): number {
  return Math.floor((60 * SECOND_US) / ratePerMinute);
}

/** One key's pace, and what was taken ahead for it. */
interface KeyUsage {
  sinceMs: number;
  /** Takes since then, and in the window before. */
  takes: number;
  before: number;
  /** What its bucket had left when it was last asked. */
  besides: number;
  /** What may be taken ahead at most: twice as much after each grant that was spent in time, one after one that was not. */
  most: number;
  grant: Grant | undefined;
  grantedMs: number;
}

/**
 * Tokens that were taken from buckets before they are asked for: a key that is used all the time need not ask the database each time. These
 * tokens are out of the bucket, so that in the long run no more is granted than it gives. What is not asked for within a tenth of a second
 * is lost, and then the next time one token at most. Nothing is taken ahead for a key that was asked for less than four times on this
 * instance in the window before, or whose bucket holds less than a hundred.
 */
export class TokenPrefetch {
  readonly #uses = new Lru<string, KeyUsage>(MAX_KEYS);

  /** Counts a take, and spends a token that there is for it. Undefined: ask the bucket. */
  take(keyId: string, tier: RateTier, nowMs: number): RateDecision | undefined {
    const use = this.#uses.get(keyId);
    if (!use) {
      const fresh = {
        sinceMs: nowMs,
        takes: 1,
        before: 0,
        besides: 0,
        most: 1,
        grant: undefined,
        grantedMs: nowMs,
      };
      this.#uses.set(keyId, fresh);
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
  prefetchSize(keyId: string): number {
    const use = this.#uses.get(keyId);
    return use ? Math.trunc(Math.min(use.before * OF_PACE, use.besides * OF_LEFT, use.most)) : 0;
  }

  /** Keeps what is left of a grant. */
  store(keyId: string, grant: Grant, nowMs: number): void {
    const use = this.#uses.get(keyId);
    if (!use) return;
    use.besides = grant.remaining;
    // Several are asked for at once only where a batch of them failed.
    if (grant.left <= (use.grant?.left ?? 0)) return;
    use.grant = grant;
    use.grantedMs = nowMs;
  }
}

function spendOf(use: KeyUsage, tier: RateTier, nowMs: number): RateDecision | undefined {
  const { grant } = use;
  if (!grant) return undefined;
  const age = nowMs - use.grantedMs;
  const good =
    age >= 0 &&
    age < WINDOW_MS &&
    grant.tier.ratePerMinute === tier.ratePerMinute &&
    grant.tier.burst === tier.burst;
  if (!good) {
    use.grant = undefined;
    use.most = 1;
    return undefined;
  }
  const decision = grant.spend();
  if (grant.left === 0) {
    use.grant = undefined;
    use.most = Math.min(2 * use.most, MOST);
  }
  return decision;
}
