import type { Pool } from "pg";
import type { RateLimiter } from "../app/ports.ts";
import type { Clock } from "../domain/clock.ts";
import type { RateDecision, RateTier } from "../domain/rate-limit.ts";
import { Batcher } from "./batcher.ts";
import { PATIENCE_MS, retrying } from "./retry.ts";
import { uuidFrom } from "./rows.ts";
import { Grant, interval, SECOND_US, TokensAhead } from "./tokens-ahead.ts";

/** What the rate limiter needs. */
export interface RateLimiterOptions {
  pool: Pool;
  clock: Clock;
}

/** Keys at most whose denial is remembered. */
const MAX_DENIED = 10_000;

interface Take {
  readonly keyId: string;
  readonly tier: RateTier;
  /** Known before the bucket was asked, for good: also when those that it waits with have to be asked for again. */
  known?: RateDecision | undefined;
}

/** All takes of one key in a batch. */
interface Ask {
  tier: RateTier;
  wanted: number;
  /** What came of it. */
  grant?: Grant;
}

interface TakenRow {
  key_id: string;
  granted: number;
  tat: bigint;
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
 * The token buckets in PostgreSQL, by its clock (migration 0007). Many takes are one statement, and several of one key in it are
 * granted exactly as many as the bucket holds. An empty bucket is remembered until a token is due, which can only deny; for a key that is
 * used all the time a few are taken ahead.
 */
export class PostgresRateLimiter implements RateLimiter {
  readonly #options: RateLimiterOptions;
  readonly #takes: Batcher<Take, RateDecision>;
  readonly #ahead = new TokensAhead();
  readonly #denied = new Map<string, Denial>();

  constructor(options: RateLimiterOptions) {
    this.#options = options;
    this.#takes = new Batcher({
      max: 500,
      patienceMs: PATIENCE_MS,
      run: (takes, forMs) => this.#takeAll(takes, forMs),
    });
  }

  take(keyId: string, tier: RateTier): RateDecision | Promise<RateDecision> {
    const now = this.#options.clock.now();
    return (
      this.#ahead.take(keyId, tier, now) ?? this.#recallDenial(keyId, tier, now) ?? this.#takes.submit({ keyId, tier })
    );
  }

  #recallDenial(keyId: string, tier: RateTier, now: number): RateDecision | undefined {
    const denial = this.#denied.get(keyId);
    if (!denial) return undefined;
    const holds =
      denial.tier.ratePerMinute === tier.ratePerMinute &&
      denial.tier.burst === tier.burst &&
      now >= denial.sinceMs &&
      now < denial.untilMs;
    if (!holds) {
      this.#denied.delete(keyId);
      return undefined;
    }
    const retryAfterSeconds = Math.max(1, Math.ceil((denial.untilMs - now) / 1000));
    return { allowed: false, limit: tier.ratePerMinute, remaining: 0, resetAt: denial.resetAt, retryAfterSeconds };
  }

  async #takeAll(takes: readonly Take[], forMs: number): Promise<RateDecision[]> {
    const sentAt = this.#options.clock.now();
    // While they waited, the batch before may have brought more than was asked for then.
    for (const take of takes) take.known ??= this.#ahead.spend(take.keyId, take.tier, sentAt);
    const asks = new Map<string, Ask>();
    for (const { keyId, tier, known } of takes) {
      if (known) continue;
      const ask = asks.get(keyId);
      if (!ask) asks.set(keyId, { tier, wanted: 1 });
      else {
        ask.tier = tier;
        ask.wanted++;
      }
    }
    if (asks.size > 0) await this.#ask(asks, forMs);
    const decisions = takes.map(({ keyId, known }) => known ?? this.#decide(keyId, asks.get(keyId), sentAt));
    const now = this.#options.clock.now();
    for (const [keyId, { grant }] of asks) if (grant) this.#ahead.keep(keyId, grant, now);
    return decisions;
  }

  /** Asks the buckets for all that is wanted, and for what is worth being taken ahead. */
  async #ask(asks: ReadonlyMap<string, Ask>, forMs: number): Promise<void> {
    const { rows } = await retrying(forMs, () =>
      this.#options.pool.query<TakenRow>({
        name: "rate-limiter-take",
        text: "select encode(uuid_send(taken.key_id), 'hex') as key_id, granted, tat, now_us from rate_take($1, $2, $3, $4) taken",
        values: [
          Array.from(asks.keys(), (keyId) => uuidFrom("key", keyId)),
          Array.from(asks, ([keyId, { wanted }]) => wanted + this.#ahead.worth(keyId)),
          Array.from(asks.values(), ({ tier }) => interval(tier)),
          Array.from(asks.values(), ({ tier }) => tier.burst),
        ],
      }),
    );
    for (const { key_id, granted, tat, now_us } of rows) {
      const ask = asks.get(`key_${key_id}`);
      if (ask) ask.grant = new Grant(ask.tier, { granted, tatUs: Number(tat), nowUs: Number(now_us) });
    }
  }

  /** The next decision of one key: first come those that were granted, each with what was left after it, then the denials. */
  #decide(keyId: string, ask: Ask | undefined, sentAt: number): RateDecision {
    if (!ask?.grant) throw new Error("a bucket was not answered for");
    return ask.grant.spend() ?? this.#deny(keyId, ask.grant, sentAt);
  }

  #deny(keyId: string, { tier, given: { tatUs, nowUs } }: Grant, sentAt: number): RateDecision {
    const waitUs = tatUs - (tier.burst - 1) * interval(tier) - nowUs;
    const resetAt = Math.ceil(tatUs / SECOND_US);
    this.#remember(keyId, { tier, sinceMs: sentAt, untilMs: sentAt + Math.trunc(waitUs / 1000), resetAt });
    return {
      allowed: false,
      limit: tier.ratePerMinute,
      remaining: 0,
      resetAt,
      retryAfterSeconds: Math.max(1, Math.ceil(waitUs / SECOND_US)),
    };
  }

  #remember(keyId: string, denial: Denial): void {
    if (this.#denied.size >= MAX_DENIED) this.#denied.clear();
    this.#denied.set(keyId, denial);
  }
}
