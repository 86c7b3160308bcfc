import type { Clock } from "../../domain/core/clock.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { RateTier } from "../../domain/accounts/caller.ts";
import { RateLimitedError } from "../key-authenticator.ts";
import { TokenBuckets } from "../token-buckets.ts";
import type { ClientInfo } from "../authentication.ts";

/** Limits per address and instance: challenges, and failed sign-ins. */
export const [CHALLENGE_RATE, FAILURE_RATE]: readonly [RateTier, RateTier] = [
  { ratePerMinute: 20, burst: 40 },
  { ratePerMinute: 10, burst: 20 },
];

/** Limits unauthenticated work: a challenge stores a row, a sign-in may create an account. */
export class SignInLimits {
  readonly #challenges: TokenBuckets;
  readonly #failures: TokenBuckets;

  constructor(clock: Clock) {
    this.#challenges = new TokenBuckets(clock, CHALLENGE_RATE);
    this.#failures = new TokenBuckets(clock, FAILURE_RATE);
  }

  /** @throws RateLimitedError after too many challenges */
  requireChallenge({ network }: ClientInfo): void {
    const rate = this.#challenges.take(network);
    if (!rate.allowed) throw new RateLimitedError(rate, "sign-ins started from your address");
  }

  /** Runs a sign-in. @throws RateLimitedError after too many failures, and whatever `signIn` throws */
  async attempt<Result>({ network }: ClientInfo, signIn: () => Promise<Result>): Promise<Result> {
    const refusal = this.#failures.refusal(network);
    if (refusal) throw new RateLimitedError(refusal, "failed sign-ins from your address");
    try {
      return await signIn();
    } catch (error) {
      // Server errors do not count against the client.
      if (error instanceof ToolgateError && error.status < 500) this.#failures.count(network);
      throw error;
    }
  }
}
