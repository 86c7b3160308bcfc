import type { RateTier } from "../../domain/accounts/rate-limit.ts";

/** Rate limits in the view `account_limits`. */
export interface LimitsRow {
  rate_per_minute: number;
  burst: number;
  account_rate_per_minute: number;
  account_burst: number;
}

export function rateLimitsOf(row: LimitsRow): { tier: RateTier; accountTier: RateTier } {
  return {
    tier: { ratePerMinute: row.rate_per_minute, burst: row.burst },
    accountTier: { ratePerMinute: row.account_rate_per_minute, burst: row.account_burst },
  };
}
