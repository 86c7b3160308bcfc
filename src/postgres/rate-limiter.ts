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

const SECOND_US = 1_000_000n;

interface Take {
  keyUuid: string;
  tier: RateTier;
}

/** All takes of one key in a batch. */
interface Ask {
  tier: RateTier;
  wanted: number;
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

  async take(keyId: string, tier: RateTier): Promise<RateDecision> {
    const keyUuid = uuidFrom("key", keyId);
    return this.#recallDenial(keyUuid, tier) ?? this.#takes.submit({ keyUuid, tier });
  }

  #recallDenial(keyUuid: string, tier: RateTier): RateDecision | undefined {
    const denial = this.#denied.get(keyUuid);
    if (!denial) return undefined;
    const now = this.#options.clock.now();
    const holds =
      denial.tier.ratePerMinute === tier.ratePerMinute &&
      denial.tier.burst === tier.burst &&
      now >= denial.sinceMs &&
      now < denial.untilMs;
    if (!holds) {
      this.#denied.delete(keyUuid);
      return undefined;
    }
    const retryAfterSeconds = Math.max(1, Math.ceil((denial.untilMs - now) / 1000));
    return { allowed: false, limit: tier.ratePerMinute, remaining: 0, resetAt: denial.resetAt, retryAfterSeconds };
  }

  async #takeAll(takes: readonly Take[]): Promise<RateDecision[]> {
    const asks = new Map<string, Ask>();
    for (const { keyUuid, tier } of takes) asks.set(keyUuid, { tier, wanted: (asks.get(keyUuid)?.wanted ?? 0) + 1 });
    const { pool, clock } = this.#options;
    const sentAt = clock.now();
    const { rows } = await retrying(PATIENCE_MS, () =>
      pool.query<TakenRow>({
        name: "rate-limiter-take",
        text: "select encode(uuid_send(taken.key_id), 'hex') as key_id, granted, tat, now_us from rate_take($1, $2, $3, $4) taken",
        values: [
          [...asks.keys()],
          Array.from(asks.values(), ({ wanted }) => wanted),
          Array.from(asks.values(), ({ tier }) => interval(tier)),
          Array.from(asks.values(), ({ tier }) => tier.burst),
        ],
      }),
    );
    const decisions = new Map(rows.map((row) => [row.key_id, this.#decide(row, asks.get(row.key_id), sentAt)]));
    return takes.map(({ keyUuid }) => {
      const decision = decisions.get(keyUuid)?.shift();
      if (!decision) throw new Error("a bucket was not answered for");
      return decision;
    });
  }

  /** The decisions of one key, in order: first those that were granted, each with what was left after it, then the denials. */
  #decide(row: TakenRow, ask: Ask | undefined, sentAt: number): RateDecision[] {
    if (!ask) return [];
    const { tier, wanted } = ask;
    const period = interval(tier);
    const capacity = BigInt(tier.burst) * period;
    const granted = Array.from({ length: row.granted }, (_, index): RateDecision => {
      const tat = row.tat - BigInt(row.granted - 1 - index) * period;
      return {
        allowed: true,
        limit: tier.ratePerMinute,
        remaining: Number((row.now_us + capacity - tat) / period),
        resetAt: ceilSeconds(tat),
        retryAfterSeconds: 0,
      };
    });
    if (row.granted === wanted) return granted;
    const waitUs = row.tat + period - capacity - row.now_us;
    const resetAt = ceilSeconds(row.tat);
    this.#remember(row.key_id, { tier, sinceMs: sentAt, untilMs: sentAt + Number(waitUs / 1000n), resetAt });
    const denial = {
      allowed: false,
      limit: tier.ratePerMinute,
      remaining: 0,
      resetAt,
      retryAfterSeconds: Math.max(1, ceilSeconds(waitUs)),
    };
    return [...granted, ...Array.from({ length: wanted - row.granted }, () => denial)];
  }

  #remember(keyUuid: string, denial: Denial): void {
    if (this.#denied.size >= MAX_DENIED) this.#denied.clear();
    this.#denied.set(keyUuid, denial);
  }
}

/** Microseconds between two tokens. */
function interval(tier: RateTier): bigint {
  return (60n * SECOND_US) / BigInt(tier.ratePerMinute);
}

function ceilSeconds(us: bigint): number {
  return Number((us + SECOND_US - 1n) / SECOND_US);
}
