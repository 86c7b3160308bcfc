import type { RateDecision } from "../domain/accounts/caller.ts";

/** An HTTP header or a gRPC metadata entry: lower-case name, printable ASCII value. */
export type Header = readonly [name: string, value: string];

/** Returns X-RateLimit-Limit, -Remaining and -Reset (specification 8). */
export function rateLimitHeaders(decision: RateDecision): Header[] {
  return [
    ["x-ratelimit-limit", String(decision.limit)],
    ["x-ratelimit-remaining", String(decision.remaining)],
    ["x-ratelimit-reset", String(decision.resetAt)],
  ];
}
