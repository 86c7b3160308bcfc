import type { Caller } from "../../domain/accounts/caller.ts";
import type { RateDecision } from "../../domain/accounts/rate-limit.ts";

/** Whose tokens a request takes. */
export type RatedCaller = Pick<Caller, "keyId" | "accountId" | "tier" | "accountTier">;

/** The token buckets, one per key and one per account, shared by all instances on one database. */
export interface RateLimiter {
  /** One token of the key and its account, if both have one; at once where that is known from memory. */
  take(caller: RatedCaller): RateDecision | Promise<RateDecision>;
}
