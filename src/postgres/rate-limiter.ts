import type { Pool } from "pg";
import type { RateLimiter } from "../app/ports.ts";
import type { Clock } from "../domain/clock.ts";
import type { RateDecision, RateTier } from "../domain/rate-limit.ts";
import { Batcher } from "./batcher.ts";
import { retrying } from "./retry.ts";
import { uuidFrom } from "./rows.ts";

/** What the rate limiter needs. */
export interface RateLimiterOptions {
  pool: Pool;
  clock: Clock;
}

/** How long a call waits for a database that is away, ms. */
const PATIENCE_MS = 2_000;

/** Keys at most whose denial is remembered. */
const MAX_DENIED = 10_000;

const SECOND_US = 1_000_000;

interface Take {
  keyId: string;
  tier: RateTier;
}

/** All takes of one key in a batch. */
interface Ask {
  tier: RateTier;
  wanted: number;
  /** What came of it. */
  taken?: Taken;
  /** Takes that have their decision. */
  decided: number;
}

/** What the bucket gave to all takes of a batch. Microseconds are numbers: exact until the year 2255. */
interface Taken {
  granted: number;
  tatUs: number;
  nowUs: number;
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
 * granted exactly as many as the bucket holds. An empty bucket is remembered until a token is due, which can only deny.
 */
export class PostgresRateLimiter implements RateLimiter {
  readonly #options: RateLimiterOptions;
  readonly #takes: Batcher<Take, RateDecision>;
  readonly #denied = new Map<string, Denial>();

  constructor(options: RateLimiterOptions) {
    this.#options = options;
    this.#takes = new Batcher({ max: 500, run: (takes) => this.#takeAll(takes) });
  }

  take(keyId: string, tier: RateTier): Promise<RateDecision> {
    const denial = this.#recallDenial(keyId, tier);
    return denial ? Promise.resolve(denial) : this.#takes.submit({ keyId, tier });
  }

  #recallDenial(keyId: string, tier: RateTier): RateDecision | undefined {
    const denial = this.#denied.get(keyId);
    if (!denial) return undefined;
    const now = this.#options.clock.now();
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

  async #takeAll(takes: readonly Take[]): Promise<RateDecision[]> {
    const asks = new Map<string, Ask>();
    for (const { keyId, tier } of takes) {
      const ask = asks.get(keyId);
      if (!ask) asks.set(keyId, { tier, wanted: 1, decided: 0 });
      else {
        ask.tier = tier;
        ask.wanted++;
      }
    }
    const { pool, clock } = this.#options;
    const sentAt = clock.now();
    const { rows } = await retrying(PATIENCE_MS, () =>
      pool.query<TakenRow>({
        name: "rate-limiter-take",
        text: "select encode(uuid_send(taken.key_id), 'hex') as key_id, granted, tat, now_us from rate_take($1, $2, $3, $4) taken",
        values: [
          Array.from(asks.keys(), (keyId) => uuidFrom("key", keyId)),
          Array.from(asks.values(), ({ wanted }) => wanted),
          Array.from(asks.values(), ({ tier }) => interval(tier)),
          Array.from(asks.values(), ({ tier }) => tier.burst),
        ],
      }),
    );
    for (const { key_id, granted, tat, now_us } of rows) {
      const ask = asks.get(`key_${key_id}`);
      if (ask) ask.taken = { granted, tatUs: Number(tat), nowUs: Number(now_us) };
    }
    return takes.map(({ keyId }) => this.#decide(keyId, asks.get(keyId), sentAt));
  }

  /** The next decision of one key: first come those that were granted, each with what was left after it, then the denials. */
  #decide(keyId: string, ask: Ask | undefined, sentAt: number): RateDecision {
    if (!ask?.taken) throw new Error("a bucket was not answered for");
    const { tier, taken } = ask;
    const { granted, tatUs, nowUs } = taken;
    const period = interval(tier);
    const after = granted - ++ask.decided;
    if (after >= 0) {
      const tat = tatUs - after * period;
      return {
        allowed: true,
        limit: tier.ratePerMinute,
        remaining: tier.burst - Math.ceil((tat - nowUs) / period),
        resetAt: Math.ceil(tat / SECOND_US),
        retryAfterSeconds: 0,
      };
    }
    const waitUs = tatUs - (tier.burst - 1) * period - nowUs;
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

/** Microseconds between two tokens. */
function interval(tier: RateTier): number {
  return Math.floor((60 * SECOND_US) / tier.ratePerMinute);
}
