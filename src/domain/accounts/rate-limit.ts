/** A token bucket (GCRA): refilled at a steady rate, holding at most `burst` (specification 8). */
export interface RateTier {
  /** Requests per minute in the long run. */
  ratePerMinute: number;
  /** Requests at once. */
  burst: number;
}

/** The default tier of specification 8. */
export const DEFAULT_TIER: RateTier = { ratePerMinute: 60, burst: 10 };

/** What a tier may be at most: a token every microsecond, which is what buckets are counted in. */
export const MAX_TIER: RateTier = { ratePerMinute: 60_000_000, burst: 10_000_000 };

/** How many keys' worth an account may use over all its keys, unless the operator sets a limit of its own. */
const ACCOUNT_KEYS = 10;

/** Returns the tier of the account's own bucket, which all its keys share; `own` is what the operator has set. */
export function accountTierOf(
  { ratePerMinute, burst }: RateTier,
  own: { ratePerMinute?: number | null | undefined; burst?: number | null | undefined },
): RateTier {
  return {
    ratePerMinute: own.ratePerMinute ?? Math.min(ACCOUNT_KEYS * ratePerMinute, MAX_TIER.ratePerMinute),
    burst: own.burst ?? Math.min(ACCOUNT_KEYS * burst, MAX_TIER.burst),
  };
}

/** What the bucket says of one request. */
export interface RateDecision {
  allowed: boolean;
  /** X-RateLimit-Limit: requests per minute. */
  limit: number;
  /** X-RateLimit-Remaining: calls possible right now, 0..burst. */
  remaining: number;
  /** X-RateLimit-Reset: Unix seconds at which the bucket is full again. */
  resetAt: number;
  /** Seconds until one call is possible; 0 when allowed. */
  retryAfterSeconds: number;
  /** Set where the account's bucket refuses: the figures are then the account's. */
  ofAccount?: true;
}
