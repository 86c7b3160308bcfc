/** A token bucket (GCRA): refilled at a steady rate, holding at most `burst` (specification 8). */
export interface RateTier {
  /** Requests per minute in the long run. */
  ratePerMinute: number;
  /** Requests at once. */
  burst: number;
}

/** The default tier of specification 8. */
export const DEFAULT_TIER: RateTier = { ratePerMinute: 60, burst: 10 };

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
}
