import type { Pool } from "pg";
import type { RatedCaller, RateLimiter } from "../app/ports.ts";
import type { Clock } from "../domain/clock.ts";
import type { RateDecision, RateTier } from "../domain/rate-limit.ts";
import { Batcher } from "./batcher.ts";
import { RETRY_MS, withRetry } from "./retry.ts";
import { uuidFromId } from "./row-mapping.ts";
import { Grant, tokenIntervalUs, SECOND_US, TokenPrefetch } from "./token-prefetch.ts";

/** What the rate limiter needs. */
export interface RateLimiterOptions {
  pool: Pool;
  clock: Clock;
}

/** Buckets at most whose denial is remembered. */
const MAX_DENIED = 10_000;

interface Take {
  readonly caller: RatedCaller;
  /** Known before the bucket was asked, for good: also when those that it waits with have to be asked for again. */
  known?: RateDecision | undefined;
}

/** All takes of one key in a batch. */
interface Ask {
  /** The newest, whose tiers count. */
  caller: RatedCaller;
  wanted: number;
  /** What came of it. */
  grant?: Grant;
}

interface TakenRow {
  key_id: string;
  granted: number;
  tat: bigint;
  account_tat: bigint;
  account_refused: boolean;
  now_us: bigint;
}

/** A denial: nothing can be granted before `untilMs`, whoever asks. */
interface Denial {
  tier: RateTier;
  sinceMs: number;
  untilMs: number;
  resetAt: number;
}

/**
 * The token buckets in PostgreSQL, by its clock (migration 0029): one per key, and one per account above its keys'. Many takes are one
 * statement for both. An empty bucket is remembered until a token is due, which can only deny; for a key that is used all the time
 * a few tokens are taken ahead.
 */
export class PostgresRateLimiter implements RateLimiter {
  readonly #options: RateLimiterOptions;
  readonly #takes: Batcher<Take, RateDecision>;
  readonly #ahead = new TokenPrefetch();
  /** By key or account. */
  readonly #denied = new Map<string, Denial>();

  constructor(options: RateLimiterOptions) {
    this.#options = options;
    this.#takes = new Batcher({
      max: 500,
      retryMs: RETRY_MS,
      run: (takes, forMs) => this.#takeAll(takes, forMs),
    });
  }

  take(caller: RatedCaller): RateDecision | Promise<RateDecision> {
    const { keyId, accountId, tier, accountTier } = caller;
    const now = this.#options.clock.now();
    return (
      this.#ahead.take(keyId, tier, now) ??
      this.#recallDenial(keyId, tier, now) ??
      ofAccount(this.#recallDenial(accountId, accountTier, now)) ??
      this.#takes.submit({ caller })
    );
  }

  #recallDenial(bucket: string, tier: RateTier, now: number): RateDecision | undefined {
    const denial = this.#denied.get(bucket);
    if (!denial) return undefined;
    const holds =
      denial.tier.ratePerMinute === tier.ratePerMinute &&
      denial.tier.burst === tier.burst &&
      now >= denial.sinceMs &&
      now < denial.untilMs;
    if (!holds) {
      this.#denied.delete(bucket);
      return undefined;
    }
    const retryAfterSeconds = Math.max(1, Math.ceil((denial.untilMs - now) / 1000));
    return {
      allowed: false,
      limit: tier.ratePerMinute,
      remaining: 0,
      resetAt: denial.resetAt,
      retryAfterSeconds,
    };
  }

  async #takeAll(takes: readonly Take[], forMs: number): Promise<RateDecision[]> {
    const sentAt = this.#options.clock.now();
    // While they waited, the batch before may have brought more than was asked for then.
    for (const take of takes) take.known ??= this.#ahead.spend(take.caller.keyId, take.caller.tier, sentAt);
    const asks = new Map<string, Ask>();
    for (const { caller, known } of takes) {
      if (known) continue;
      const ask = asks.get(caller.keyId);
      if (!ask) asks.set(caller.keyId, { caller, wanted: 1 });
      else {
        ask.caller = caller;
        ask.wanted++;
      }
    }
    if (asks.size > 0) await this.#ask(asks, forMs);
    const decisions = takes.map(({ caller, known }) => known ?? this.#decide(asks.get(caller.keyId), sentAt));
    const now = this.#options.clock.now();
    for (const [keyId, { grant }] of asks) if (grant) this.#ahead.store(keyId, grant, now);
    return decisions;
  }

  /** Asks the buckets for all that is wanted, and for what is worth being taken ahead. */
  async #ask(asks: ReadonlyMap<string, Ask>, forMs: number): Promise<void> {
    const callers = Array.from(asks.values(), ({ caller }) => caller);
    const { rows } = await withRetry(forMs, () =>
      this.#options.pool.query<TakenRow>({
        name: "rate-limiter-take",
        text: `select encode(uuid_send(taken.key_id), 'hex') as key_id, granted, tat, account_tat, account_refused, now_us
               from rate_take($1, $2, $3, $4, $5, $6, $7) taken`,
        values: [
          callers.map(({ keyId }) => uuidFromId("key", keyId)),
          callers.map(({ accountId }) => uuidFromId("acct", accountId)),
          Array.from(asks, ([keyId, { wanted }]) => wanted + this.#ahead.prefetchSize(keyId)),
          callers.map(({ tier }) => tokenIntervalUs(tier)),
          callers.map(({ tier }) => tier.burst),
          callers.map(({ accountTier }) => tokenIntervalUs(accountTier)),
          callers.map(({ accountTier }) => accountTier.burst),
        ],
      }),
    );
    for (const row of rows) {
      const ask = asks.get(`key_${row.key_id}`);
      if (!ask) continue;
      const nowUs = Number(row.now_us);
      const account = {
        tier: ask.caller.accountTier,
        tatUs: Number(row.account_tat),
        refused: row.account_refused,
      };
      ask.grant = new Grant(ask.caller.tier, {
        granted: row.granted,
        tatUs: Number(row.tat),
        nowUs,
        account,
      });
    }
  }

  /** The next decision of one key: first come those that were granted, each with what was left after it, then the denials. */
  #decide(ask: Ask | undefined, sentAt: number): RateDecision {
    if (!ask?.grant) throw new Error("a bucket was not answered for");
    return ask.grant.spend() ?? this.#deny(ask.caller, ask.grant, sentAt);
  }

  #deny({ keyId, accountId }: RatedCaller, { tier, bucket: given }: Grant, sentAt: number): RateDecision {
    const { nowUs, tatUs, account } = given;
    if (!account.refused) return this.#denyFrom(keyId, tier, tatUs, nowUs, sentAt);
    return ofAccount(this.#denyFrom(accountId, account.tier, account.tatUs, nowUs, sentAt));
  }

  #denyFrom(bucket: string, tier: RateTier, tatUs: number, nowUs: number, sentAt: number): RateDecision {
    const waitUs = tatUs - (tier.burst - 1) * tokenIntervalUs(tier) - nowUs;
    const resetAt = Math.ceil(tatUs / SECOND_US);
    this.#remember(bucket, { tier, sinceMs: sentAt, untilMs: sentAt + Math.trunc(waitUs / 1000), resetAt });
    return {
      allowed: false,
      limit: tier.ratePerMinute,
      remaining: 0,
      resetAt,
      retryAfterSeconds: Math.max(1, Math.ceil(waitUs / SECOND_US)),
    };
  }

  #remember(bucket: string, denial: Denial): void {
    if (this.#denied.size >= MAX_DENIED) this.#denied.clear();
    this.#denied.set(bucket, denial);
  }
}

function ofAccount<Decision extends RateDecision | undefined>(decision: Decision): Decision {
  return decision && { ...decision, ofAccount: true };
}
