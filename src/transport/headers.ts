import type { RateDecision } from "../domain/accounts/caller.ts";

/** An HTTP header or a gRPC metadata entry: lower-case name, printable ASCII value. */
export type Header = readonly [name: string, value: string];

/**
 * Returns X-RateLimit-Limit, -Remaining and -Reset (specification 8), and the same as RateLimit and
 * RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers-11).
 */
export function rateLimitHeaders(decision: RateDecision): Header[] {
  const policy = decision.ofAccount ? "account" : "default";
  const after = decision.allowed ? "" : `;t=${decision.retryAfterSeconds}`;
  return [
    ["ratelimit-policy", `"${policy}";q=${decision.limit};w=60`],
    ["ratelimit", `"${policy}";r=${decision.remaining}${after}`],
    ["x-ratelimit-limit", String(decision.limit)],
    ["x-ratelimit-remaining", String(decision.remaining)],
    ["x-ratelimit-reset", String(decision.resetAt)],
  ];
}
