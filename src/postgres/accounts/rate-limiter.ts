import type { RatedCaller, RateLimiter } from "../../app/accounts/authenticator.ts";
import type { RateDecision, RateTier } from "../../domain/accounts/caller.ts";
import { DatabaseAway } from "../database/away.ts";
import { Batcher } from "../database/batcher.ts";
import { refusesWrites } from "../database/database-errors.ts";
import { RETRY_MS, withRetry } from "../database/retry.ts";
import { uuidFromId } from "../database/row-mapping.ts";
import { Grant, tokenIntervalUs, SECOND_US, TokenPrefetch } from "./token-prefetch.ts";
import type { Parts } from "../database/parts.ts";

export type RateLimiterOptions = Pick<Parts, "pool" | "clock"> & { away?: DatabaseAway };

/** Maximum denials, and buckets in memory. */
const MAX_DENIALS = 10_000;

/** How long buckets stay in memory after the database refused a write, ms. */
const READ_ONLY_MS = 1_000;

interface TakeRequest {
  readonly caller: RatedCaller;
  /** A decision from prefetched tokens; kept when the rest of the batch is retried. */
  prefetched?: RateDecision | undefined;
}

interface KeyRequest {
  /** The latest caller; its tiers apply. */
  caller: RatedCaller;
  wanted: number;
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

type Requests = ReadonlyMap<string, KeyRequest>;

/** A denial: no token is due before `untilMs`. */
interface Denial {
  tier: RateTier;
  sinceMs: number;
  untilMs: number;
  resetAt: number;
}

/**
 * Token buckets in PostgreSQL, by its clock: one per key and one per account. One statement takes tokens from
 * both for a batch of requests. Denials are cached until the next token is due. Busy keys prefetch a few
 * tokens. While the database accepts no writes or is away, buckets are in memory: what needs none is served.
 */
export class PostgresRateLimiter implements RateLimiter {
  readonly #options: RateLimiterOptions;
  readonly #batcher: Batcher<TakeRequest, RateDecision>;
  readonly #prefetch = new TokenPrefetch();
  /** By key or account identifier. */
  readonly #denials = new Map<string, Denial>();
  /** By key or account identifier: when the bucket is full again, us. */
  readonly #inMemory = new Map<string, number>();
  #readOnlyUntil = Number.NEGATIVE_INFINITY;
  readonly #away: DatabaseAway;

  constructor(options: RateLimiterOptions) {
    this.#options = options;
    this.#away = options.away ?? new DatabaseAway();
    this.#batcher = new Batcher({
      max: 500,
      retryMs: RETRY_MS,
      run: (takes, forMs) => this.#takeAll(takes, forMs),
    });
  }

  take(caller: RatedCaller): RateDecision | Promise<RateDecision> {
    const { keyId, accountId, tier, accountTier } = caller;
    const now = this.#options.clock.now();
    return (
      this.#prefetch.take(keyId, tier, now) ??
      this.#cachedDenial(keyId, tier, now) ??
      ofAccount(this.#cachedDenial(accountId, accountTier, now)) ??
      this.#batcher.submit({ caller })
    );
  }

  #cachedDenial(bucket: string, tier: RateTier, now: number): RateDecision | undefined {
    const denial = this.#denials.get(bucket);
    if (!denial) return undefined;
    const holds =
      denial.tier.ratePerMinute === tier.ratePerMinute &&
      denial.tier.burst === tier.burst &&
      now >= denial.sinceMs &&
      now < denial.untilMs;
    if (!holds) {
      this.#denials.delete(bucket);
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

  async #takeAll(takes: readonly TakeRequest[], forMs: number): Promise<RateDecision[]> {
    const sentAt = this.#options.clock.now();
    // The previous batch may have prefetched tokens meanwhile.
    for (const take of takes)
      take.prefetched ??= this.#prefetch.spend(take.caller.keyId, take.caller.tier, sentAt);
    const requests = new Map<string, KeyRequest>();
    for (const { caller, prefetched } of takes) {
      if (prefetched) continue;
      const request = requests.get(caller.keyId);
      if (!request) requests.set(caller.keyId, { caller, wanted: 1 });
      else {
        request.caller = caller;
        request.wanted++;
      }
    }
    if (requests.size > 0) await this.#takeFromBuckets(requests, forMs);
    const decisions = takes.map(
      ({ caller, prefetched }) => prefetched ?? this.#decide(requests.get(caller.keyId), sentAt),
    );
    const now = this.#options.clock.now();
    for (const [keyId, { grant }] of requests) if (grant) this.#prefetch.store(keyId, grant, now);
    return decisions;
  }

  /** @returns undefined when the database accepts no writes or is away */
  async #takeStored(requests: Requests, forMs: number): Promise<TakenRow[] | undefined> {
    if (this.#away.lasts || performance.now() < this.#readOnlyUntil) return undefined;
    const callers = Array.from(requests.values(), ({ caller }) => caller);
    const query = () =>
      this.#options.pool.query<TakenRow>({
        name: "rate-limiter-take",
        text: `select encode(uuid_send(taken.key_id), 'hex') as key_id, granted, tat, account_tat,
            account_refused, now_us
               from rate_take($1, $2, $3, $4, $5, $6, $7) taken`,
        values: [
          callers.map(({ keyId }) => uuidFromId("key", keyId)),
          callers.map(({ accountId }) => uuidFromId("acct", accountId)),
          Array.from(requests, ([keyId, { wanted }]) => wanted + this.#prefetch.prefetchSize(keyId)),
          callers.map(({ tier }) => tokenIntervalUs(tier)),
          callers.map(({ tier }) => tier.burst),
          callers.map(({ accountTier }) => tokenIntervalUs(accountTier)),
          callers.map(({ accountTier }) => accountTier.burst),
        ],
      });
    try {
      return await withRetry(forMs, async () => {
        try {
          return (await query()).rows;
        } catch (error) {
          if (!refusesWrites(error)) throw error;
          this.#readOnlyUntil = performance.now() + READ_ONLY_MS;
          return undefined;
        }
      });
    } catch (error) {
      this.#away.note(error);
      return undefined;
    }
  }

  /** As rate_take.sql does. */
  #takeInMemory(requests: Requests): TakenRow[] {
    const nowUs = this.#options.clock.now() * 1_000;
    if (this.#inMemory.size >= MAX_DENIALS) this.#inMemory.clear();
    const bucketOf = (name: string, tier: RateTier) => {
      const [intervalUs, tatUs] = [tokenIntervalUs(tier), this.#inMemory.get(name) ?? 0];
      const emptyUs = nowUs + tier.burst * intervalUs;
      const boundUs = Math.min(Math.max(tatUs, nowUs), emptyUs);
      const take = (tokens: number) => {
        this.#inMemory.set(name, boundUs + tokens * intervalUs);
        return BigInt(Math.trunc(boundUs + tokens * intervalUs));
      };
      return { tokens: Math.trunc((emptyUs - boundUs) / intervalUs), take };
    };
    return Array.from(requests, ([keyId, { caller, wanted }]) => {
      const own = bucketOf(keyId, caller.tier);
      const shared = bucketOf(caller.accountId, caller.accountTier);
      const tokens = Math.min(wanted, own.tokens);
      const granted = Math.min(tokens, shared.tokens);
      return {
        key_id: keyId.slice("key_".length),
        granted,
        tat: own.take(granted),
        account_tat: shared.take(granted),
        account_refused: granted < tokens,
        now_us: BigInt(Math.trunc(nowUs)),
      };
    });
  }

  async #takeFromBuckets(requests: Requests, forMs: number): Promise<void> {
    const rows = (await this.#takeStored(requests, forMs)) ?? this.#takeInMemory(requests);
    for (const row of rows) {
      const request = requests.get(`key_${row.key_id}`);
      if (!request) continue;
      const nowUs = Number(row.now_us);
      const account = {
        tier: request.caller.accountTier,
        tatUs: Number(row.account_tat),
        refused: row.account_refused,
      };
      request.grant = new Grant(request.caller.tier, {
        granted: row.granted,
        tatUs: Number(row.tat),
        nowUs,
        account,
      });
    }
  }

  /** The next decision for a key: grants first, then denials. */
  #decide(request: KeyRequest | undefined, sentAt: number): RateDecision {
    if (!request?.grant) throw new Error("the database returned no result for a token bucket");
    return request.grant.spend() ?? this.#deny(request.caller, request.grant, sentAt);
  }

  #deny({ keyId, accountId }: RatedCaller, { tier, bucket: given }: Grant, sentAt: number): RateDecision {
    const { nowUs, tatUs, account } = given;
    if (!account.refused) return this.#denyFrom(keyId, tier, tatUs, nowUs, sentAt);
    return ofAccount(this.#denyFrom(accountId, account.tier, account.tatUs, nowUs, sentAt));
  }

  #denyFrom(bucket: string, tier: RateTier, tatUs: number, nowUs: number, sentAt: number): RateDecision {
    const waitUs = tatUs - (tier.burst - 1) * tokenIntervalUs(tier) - nowUs;
    const resetAt = Math.ceil(tatUs / SECOND_US);
    this.#cacheDenial(bucket, {
      tier,
      sinceMs: sentAt,
      untilMs: sentAt + Math.trunc(waitUs / 1000),
      resetAt,
    });
    return {
      allowed: false,
      limit: tier.ratePerMinute,
      remaining: 0,
      resetAt,
      retryAfterSeconds: Math.max(1, Math.ceil(waitUs / SECOND_US)),
    };
  }

  #cacheDenial(bucket: string, denial: Denial): void {
    if (this.#denials.size >= MAX_DENIALS) this.#denials.clear();
    this.#denials.set(bucket, denial);
  }
}

function ofAccount<Decision extends RateDecision | undefined>(decision: Decision): Decision {
  return decision && { ...decision, ofAccount: true };
}
