/** A token bucket (GCRA, specification 8). */
export interface RateTier {
  /** Long-term rate. */
  ratePerMinute: number;
  /** Capacity of the bucket. */
  burst: number;
}

/** The tier `default` of specification 8, unless the configuration has another one. */
export const DEFAULT_TIER: RateTier = { ratePerMinute: 60, burst: 10 };

/** The maximum tier: one token per microsecond, the resolution of the buckets. */
export const MAX_TIER: RateTier = { ratePerMinute: 60_000_000, burst: 10_000_000 };

/** Rate limits of a tier: of each API key, and of all keys of an account; undefined: ten times those. */
interface TierLimits {
  readonly rate_per_minute: number;
  readonly burst: number;
  readonly account_rate_per_minute?: number | undefined;
  readonly account_burst?: number | undefined;
}

/** The tiers of a document by name, `default` among them. */
export type Tiers = Readonly<Record<string, TierLimits>>;

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
