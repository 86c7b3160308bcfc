import type { Clock } from "../../domain/clock.ts";
import { ToolgateError } from "../../domain/errors.ts";
import type { RateTier } from "../../domain/rate-limit.ts";
import { RateLimitedError } from "../key-authenticator.ts";
import { Buckets } from "../token-buckets.ts";
import type { Visitor } from "../authentication.ts";

/** Challenges that an address may ask for, and sign-ins of it that may fail, for each instance. */
export const [BEGINNINGS, FAILURES]: readonly [RateTier, RateTier] = [
  { ratePerMinute: 20, burst: 40 },
  { ratePerMinute: 10, burst: 20 },
];

/** Bounds the work that strangers make: a challenge is a row, an answer an account. */
export class SignInLimits {
  readonly #beginnings: Buckets;
  readonly #failures: Buckets;

  constructor(clock: Clock) {
    this.#beginnings = new Buckets(clock, BEGINNINGS);
    this.#failures = new Buckets(clock, FAILURES);
  }

  /** @throws RateLimitedError for an address that began too often */
  begin({ network }: Visitor): void {
    const rate = this.#beginnings.take(network);
    if (!rate.allowed) throw new RateLimitedError(rate, "sign-ins begun from your address");
  }

  /**
   * Tries to sign in.
   * @throws RateLimitedError for an address that failed too often, and whatever the attempt throws
   */
  async attempt<Result>({ network }: Visitor, signIn: () => Promise<Result>): Promise<Result> {
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
