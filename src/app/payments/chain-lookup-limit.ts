import type { Clock } from "../../domain/core/clock.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { Lru } from "../../domain/core/lru.ts";
import type { Metrics } from "../operations/metrics.ts";

/** Fruitless lookups of one account: burst and refill per second. */
const [ACCOUNT_BURST, ACCOUNT_PER_SECOND] = [100, 1 / 3];
/** The same for all accounts of this instance without a recent payment. */
const [TOTAL_BURST, TOTAL_PER_SECOND] = [256, 10];
/** How long a payment or receipt exempts its account, ms. */
const TRUSTED_MS = 600_000;
/** Interval between two receipt checks of an account, ms. */
const ASK_AGAIN_MS = 30_000;
const REMEMBERED_ACCOUNTS = 10_000;

export type LookupResult = "payment" | "something" | "nothing";

interface Allowance {
  tokens: number;
  at: number;
}

interface AccountRecord extends Allowance {
  paidAt: number;
  askedAt: number;
  open: number;
}

/**
 * Limits chain lookups that find nothing: unknown transactions, transactions that pay nothing, expired
 * blockhashes. Lookups that find a payment cost nothing, so paying is never limited. Treasury jobs are not
 * limited.
 */
export class ChainLookupLimit {
  readonly #clock: Clock;
  readonly #metrics: Pick<Metrics, "count">;
  readonly #hasReceipts: (accountId: string) => Promise<boolean>;
  readonly #accounts = new Lru<string, AccountRecord>(REMEMBERED_ACCOUNTS);
  readonly #total: Allowance;
  /** Pending lookups of accounts without a recent payment: each may find nothing. */
  #open = 0;

  /**
   * @param hasReceipts whether the account ever bought a call; called only when the shared bucket is empty
   */
  constructor(
    clock: Clock,
    metrics: Pick<Metrics, "count">,
    hasReceipts: (accountId: string) => Promise<boolean>,
  ) {
    this.#clock = clock;
    this.#metrics = metrics;
    this.#hasReceipts = hasReceipts;
    this.#total = { tokens: TOTAL_BURST, at: clock.now() };
    for (const limit of ["account", "instance"]) metrics.count("toolgate_proofs_refused_total", 0, { limit });
  }

  /**
   * Runs a lookup for an account. Errors count as fruitless, also when the caller leaves; outages do not.
   * @param judge classifies the result: a payment exempts the account from the shared limit for a while
   * @throws ToolgateError RATE_LIMITED when the account's bucket is empty; UNAVAILABLE when the shared
   * bucket is empty
   */
  async run<Answer>(
    accountId: string,
    look: () => Promise<Answer>,
    judge: (answer: Answer) => LookupResult,
  ): Promise<Answer> {
    const account = this.#recordOf(accountId);
    if (!this.#isTrusted(account) && this.#leftOfAll() < 1) await this.#askForReceipts(accountId, account);
    const trusted = this.#isTrusted(account);
    this.#admit(account, trusted);
    account.open += trusted ? 0 : 1;
    this.#open += trusted ? 0 : 1;
    let counts = true;
    try {
      const answer = await look();
      const found = judge(answer);
      counts = found === "nothing";
      if (found === "payment") account.paidAt = this.#clock.now();
      return answer;
    } catch (error) {
      counts = !(error instanceof ToolgateError && error.code === "UNAVAILABLE");
      throw error;
    } finally {
      account.open -= trusted ? 0 : 1;
      this.#open -= trusted ? 0 : 1;
      if (counts) account.tokens -= 1;
      if (counts && !trusted) this.#total.tokens -= 1;
    }
  }

  #admit(account: AccountRecord, trusted: boolean): void {
    const left = refilled(account, ACCOUNT_BURST, ACCOUNT_PER_SECOND, this.#clock.now()) - account.open;
    if (left < 1) {
      this.#metrics.count("toolgate_proofs_refused_total", 1, { limit: "account" });
      throw new ToolgateError(
        "RATE_LIMITED",
        "too many payments of this account were not on the chain; nothing was looked up or consumed, " +
          "repeat the call with the same proof",
        { retryAfterSeconds: Math.ceil((1 - left) / ACCOUNT_PER_SECOND) },
      );
    }
    if (trusted) return;
    const all = this.#leftOfAll();
    if (all >= 1) return;
    this.#metrics.count("toolgate_proofs_refused_total", 1, { limit: "instance" });
    throw new ToolgateError(
      "UNAVAILABLE",
      "too many payments are looked for at once; nothing was consumed, repeat the call with the same proof",
      { retryAfterSeconds: Math.ceil((1 - all) / TOTAL_PER_SECOND) },
    );
  }

  #isTrusted({ paidAt }: AccountRecord): boolean {
    return this.#clock.now() - paidAt < TRUSTED_MS;
  }

  #leftOfAll(): number {
    return refilled(this.#total, TOTAL_BURST, TOTAL_PER_SECOND, this.#clock.now()) - this.#open;
  }

  /** Exempts earlier customers, so that strangers cannot lock them out by emptying the shared bucket. */
  async #askForReceipts(accountId: string, account: AccountRecord): Promise<void> {
    const now = this.#clock.now();
    if (now - account.askedAt < ASK_AGAIN_MS) return;
    account.askedAt = now;
    if (await this.#hasReceipts(accountId)) account.paidAt = now;
  }

  #recordOf(accountId: string): AccountRecord {
    const known = this.#accounts.get(accountId);
    if (known) return known;
    const never = Number.NEGATIVE_INFINITY;
    const record = { tokens: ACCOUNT_BURST, at: this.#clock.now(), paidAt: never, askedAt: never, open: 0 };
    this.#accounts.set(accountId, record);
    return record;
  }
}

function refilled(allowance: Allowance, burst: number, perSecond: number, now: number): number {
  const gained = (Math.max(0, now - allowance.at) / 1_000) * perSecond;
  allowance.tokens = Math.min(burst, allowance.tokens + gained);
  allowance.at = now;
  return allowance.tokens;
}
