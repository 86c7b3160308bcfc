import type { Caller } from "../../domain/accounts/caller.ts";
import type { RateDecision } from "../../domain/accounts/rate-limit.ts";

export type RatedCaller = Pick<Caller, "keyId" | "accountId" | "tier" | "accountTier">;

/** Token buckets, one per key and one per account, shared by all instances. */
export interface RateLimiter {
  /** Takes one token from the key and its account if both have one; synchronous if decided from memory. */
  take(caller: RatedCaller): RateDecision | Promise<RateDecision>;
}
