import type { Clock } from "../../domain/core/clock.ts";
import type { RateDecision, RateTier } from "../../domain/accounts/caller.ts";
import type { ClientInfo } from "../authentication.ts";
import { RateLimitedError } from "../key-authenticator.ts";
import { TokenBuckets } from "../token-buckets.ts";

/** Limit of answers without a payment, per address and instance. */
export const UNPAID_RATE: RateTier = { ratePerMinute: 300, burst: 300 };

/** A bought call takes one request for its offer and one for its answer. */
const REQUESTS_OF_A_SALE = 2;

/** Limits what an address gets without paying: offers, refusals, and answers that were paid before. */
export class UnpaidAnswers {
  readonly #buckets: TokenBuckets;

  constructor(clock: Clock) {
    this.#buckets = new TokenBuckets(clock, UNPAID_RATE);
  }

  /** @throws RateLimitedError */
  require({ network }: ClientInfo): RateDecision {
    const rate = this.#buckets.take(network);
    if (!rate.allowed) throw new RateLimitedError(rate, "unpaid requests from your address");
    return rate;
  }

  /** The request of a wallet that signed in counts against the limits of its account. */
  signedIn({ network }: ClientInfo): void {
    this.#buckets.giveBack(network, 1);
  }

  /** A paid answer takes nothing, nor does the offer before it. */
  paid({ network, signIn }: ClientInfo): void {
    this.#buckets.giveBack(network, signIn?.caller ? REQUESTS_OF_A_SALE - 1 : REQUESTS_OF_A_SALE);
  }
}
