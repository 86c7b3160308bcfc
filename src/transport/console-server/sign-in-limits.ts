import type { Clock } from "../../domain/clock.ts";
import { ToolgateError } from "../../domain/errors.ts";
import type { RateTier } from "../../domain/rate-limit.ts";
import { RateLimitedError } from "../key-authenticator.ts";
import { TokenBuckets } from "../token-buckets.ts";
import type { ClientInfo } from "../authentication.ts";

/** Challenges that an address may ask for, and sign-ins of it that may fail, for each instance. */
export const [CHALLENGE_RATE, FAILURE_RATE]: readonly [RateTier, RateTier] = [
  { ratePerMinute: 20, burst: 40 },
  { ratePerMinute: 10, burst: 20 },
];

/** Bounds the work that strangers make: a challenge is a row, an answer an account. */
export class SignInLimits {
  readonly #challenges: TokenBuckets;
  readonly #failures: TokenBuckets;

  constructor(clock: Clock) {
    this.#challenges = new TokenBuckets(clock, CHALLENGE_RATE);
    this.#failures = new TokenBuckets(clock, FAILURE_RATE);
  }

  /** @throws RateLimitedError for an address that began too often */
  requireChallenge({ network }: ClientInfo): void {
    const rate = this.#challenges.take(network);
    if (!rate.allowed) throw new RateLimitedError(rate, "sign-ins begun from your address");
  }

  /**
   * Tries to sign in.
   * @throws RateLimitedError for an address that failed too often, and whatever the attempt throws
   */
  async attempt<Result>({ network }: ClientInfo, signIn: () => Promise<Result>): Promise<Result> {
    const refusal = this.#failures.refusal(network);
    if (refusal) throw new RateLimitedError(refusal, "failed sign-ins from your address");
    try {
      return await signIn();
    } catch (error) {
      // A gateway that cannot tell is no failure of the visitor's.
      if (error instanceof ToolgateError && error.status < 500) this.#failures.count(network);
      throw error;
    }
  }
}
