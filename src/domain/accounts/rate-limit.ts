/** A token bucket (GCRA, specification 8). */
export interface RateTier {
  /** Long-term rate. */
  ratePerMinute: number;
  /** Capacity of the bucket. */
  burst: number;
}

/** The default tier of specification 8. */
export const DEFAULT_TIER: RateTier = { ratePerMinute: 60, burst: 10 };

/** The maximum tier: one token per microsecond, the resolution of the buckets. */
export const MAX_TIER: RateTier = { ratePerMinute: 60_000_000, burst: 10_000_000 };

/** Default size of the account's bucket, in buckets of one key. */
const ACCOUNT_KEYS = 10;

/** Returns the tier of the account's shared bucket. @param own set by the operator */
export function accountTierOf(
  { ratePerMinute, burst }: RateTier,
  own: { ratePerMinute?: number | null | undefined; burst?: number | null | undefined },
): RateTier {
  return {
    ratePerMinute: own.ratePerMinute ?? Math.min(ACCOUNT_KEYS * ratePerMinute, MAX_TIER.ratePerMinute),
    burst: own.burst ?? Math.min(ACCOUNT_KEYS * burst, MAX_TIER.burst),
  };
}

/** Result of taking a token. */
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
  /** Set when the account's bucket refuses; the figures are then the account's. */
  ofAccount?: true;
}
