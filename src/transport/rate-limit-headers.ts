import type { RateDecision } from "../domain/accounts/rate-limit.ts";
import type { Header } from "./header.ts";

/** Returns X-RateLimit-Limit, -Remaining and -Reset (specification 8). */
export function rateLimitHeaders(decision: RateDecision): Header[] {
  return [
    ["x-ratelimit-limit", String(decision.limit)],
    ["x-ratelimit-remaining", String(decision.remaining)],
    ["x-ratelimit-reset", String(decision.resetAt)],
  ];
}
