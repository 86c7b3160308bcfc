import type { Clock } from "../../domain/core/clock.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { RateTier } from "../../domain/accounts/caller.ts";
import { RateLimitedError } from "../key-authenticator.ts";
import { TokenBuckets } from "../token-buckets.ts";
import type { ClientInfo } from "../authentication.ts";

const MINUTES_PER_DAY = 24 * 60;

/** Limits per address and instance: challenges, and failed sign-ins. */
export const [CHALLENGE_RATE, FAILURE_RATE]: readonly [RateTier, RateTier] = [
  { ratePerMinute: 20, burst: 40 },
  { ratePerMinute: 10, burst: 20 },
];

/** Limits unauthenticated work: a challenge stores a row, a sign-in may create an account. */
export class SignInLimits {
  readonly #challenges: TokenBuckets;
  readonly #failures: TokenBuckets;
  readonly #accounts: TokenBuckets;
  readonly #accountsPerDay: number;

  constructor(clock: Clock, accountsPerDay: number) {
    this.#challenges = new TokenBuckets(clock, CHALLENGE_RATE);
    this.#failures = new TokenBuckets(clock, FAILURE_RATE);
    this.#accountsPerDay = accountsPerDay;
    const perDay = { ratePerMinute: accountsPerDay / MINUTES_PER_DAY, burst: accountsPerDay };
    this.#accounts = new TokenBuckets(clock, perDay, { ipv4Sites: true });
  }

  /** @throws RateLimitedError after too many challenges */
  requireChallenge({ network }: ClientInfo): void {
    const rate = this.#challenges.take(network);
    if (!rate.allowed) throw new RateLimitedError(rate, "sign-ins started from your address");
  }

  /** @throws NewAccountsError after too many accounts from this network */
  requireNewAccount({ network }: ClientInfo): void {
    const { allowed, retryAfterSeconds } = this.#accounts.take(network);
    if (!allowed) throw new NewAccountsError(this.#accountsPerDay, retryAfterSeconds);
  }

  /** Runs a sign-in. @throws RateLimitedError after too many failures, and whatever `signIn` throws */
  async attempt<Result>({ network }: ClientInfo, signIn: () => Promise<Result>): Promise<Result> {
    const refusal = this.#failures.refusal(network);
    if (refusal) throw new RateLimitedError(refusal, "failed sign-ins from your address");
    try {
      return await signIn();
    } catch (error) {
      // Server errors do not count against the client, nor do valid proofs.
      const failed = error instanceof ToolgateError && !(error instanceof NewAccountsError);
      if (failed && error.status < 500) this.#failures.count(network);
      throw error;
    }
  }
}

/** RATE_LIMITED: the wallet's proof is valid, but it would get one account too many. */
class NewAccountsError extends ToolgateError {
  constructor(perDay: number, retryAfterSeconds: number) {
    super(
      "RATE_LIMITED",
      `too many new accounts from your network (${perDay} a day); a wallet that has an account still signs ` +
        `in. Create this one in ${retryAfterSeconds} s or from another network, or ask the operator`,
      { retryAfterSeconds },
    );
  }
}
