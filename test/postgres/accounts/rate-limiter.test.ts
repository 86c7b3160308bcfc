import { beforeEach, describe, expect, it, vi } from "vitest";
import type { RateDecision, RateTier } from "../../../src/domain/accounts/caller.ts";
import { PostgresRateLimiter } from "../../../src/postgres/accounts/rate-limiter.ts";
import { systemClock } from "../../../src/system.ts";
import { openInstance, openLedger, idOf } from "../fixture.ts";

/** A token returns every half minute: no test lasts as long. */
const TIER = { ratePerMinute: 2, burst: 10 };
const REFILL_SECONDS = 30;

const { database, one, two } = await openLedger();
const instances = [one, two] as const;
const limiters = instances.map(({ pool }) => new PostgresRateLimiter({ pool, clock: systemClock }));

/** A take that always returns a promise. */
const takeFrom = async (limiter: PostgresRateLimiter, keyId: string, tier: RateTier) =>
  limiter.take(callerOf(keyId, tier));
/** A caller with one key and an account limit out of reach. */
const callerOf = (keyId: string, tier: RateTier) => ({
  keyId,
  accountId: keyId.replace("key_", "acct_0").slice(0, 37),
  tier,
  accountTier: { ratePerMinute: 60_000_000, burst: 10_000_000 },
});
const newKey = () => idOf("key");
const allowed = (decisions: RateDecision[]) => decisions.filter((decision) => decision.allowed);

/** Moves the bucket forward by that many seconds. */
async function pass(keyId: string, seconds: number): Promise<void> {
  await instances[0].pool.query("update rate_bucket set tat = tat - $2::bigint where bucket_id = $1", [
    keyId.slice(4),
    seconds * 1_000_000,
  ]);
}

describe("a token bucket", () => {
  it("allows 10 of 40 concurrent requests in order and reports the remaining tokens", async () => {
    const keyId = newKey();
    const before = Math.floor(Date.now() / 1000);
    const decisions = await Promise.all(
      Array.from({ length: 40 }, () => takeFrom(limiters[0]!, keyId, TIER)),
    );
    expect(decisions.map((decision) => decision.allowed)).toEqual(
      Array.from({ length: 40 }, (_, n) => n < 10),
    );
    expect(allowed(decisions).map(({ remaining }) => remaining)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    for (const [index, decision] of decisions.entries()) {
      expect(decision.limit).toBe(TIER.ratePerMinute);
      const refill = Math.min(index + 1, 10) * REFILL_SECONDS;
      expect(decision.resetAt - before).toBeGreaterThanOrEqual(refill);
      expect(decision.resetAt - before).toBeLessThan(refill + REFILL_SECONDS);
    }
    expect(decisions[39]?.remaining).toBe(0);
    expect(decisions[39]?.retryAfterSeconds).toBeGreaterThan(1);
  });

  it("allows 10 of 60 requests over two instances, whether new or used before", async () => {
    const keyId = newKey();
    for (let round = 0; round < 8; round++) {
      const fresh = instances.map(({ pool }) => new PostgresRateLimiter({ pool, clock: systemClock }));
      const decisions = await Promise.all(
        Array.from({ length: 60 }, (_, n) => takeFrom(fresh[n % 2]!, keyId, TIER)),
      );
      expect(allowed(decisions)).toHaveLength(10);
      await pass(keyId, 3_600);
    }
  });

  it("refills with time up to its burst", async () => {
    const keyId = newKey();
    const takeMany = (count: number) => {
      const limiter = new PostgresRateLimiter({ pool: instances[0].pool, clock: systemClock });
      return Promise.all(Array.from({ length: count }, () => takeFrom(limiter, keyId, TIER)));
    };
    expect(allowed(await takeMany(20))).toHaveLength(10);
    await pass(keyId, 3 * REFILL_SECONDS);
    expect(allowed(await takeMany(20))).toHaveLength(3);
    await pass(keyId, 3_600);
    expect(allowed(await takeMany(20))).toHaveLength(10);
  });

  it("is empty and no more when the database's clock steps back, as at a failover", async () => {
    const keyId = newKey();
    await takeFrom(limiters[0]!, keyId, TIER);
    await pass(keyId, -600);
    const account = callerOf(keyId, TIER).accountId.slice(5);
    const behind = "update rate_bucket set tat = tat + 600000000 where bucket_id = $1";
    await instances[0].pool.query(behind, [account]);
    const denied = await takeFrom(
      new PostgresRateLimiter({ pool: one.pool, clock: systemClock }),
      keyId,
      TIER,
    );
    expect(denied.allowed).toBe(false);
    expect(denied.retryAfterSeconds).toBeLessThanOrEqual(REFILL_SECONDS);
    await pass(keyId, REFILL_SECONDS);
    const later = new PostgresRateLimiter({ pool: two.pool, clock: systemClock });
    expect(await takeFrom(later, keyId, TIER)).toMatchObject({ allowed: true, remaining: 0 });
  });

  it("denies from memory when empty, and allows again in time", async () => {
    const keyId = newKey();
    const tier = { ratePerMinute: 1, burst: 2 };
    let now = Date.now();
    const [{ pool }] = instances;
    const limiter = new PostgresRateLimiter({ pool, clock: { now: () => now } });
    await Promise.all(Array.from({ length: 3 }, () => takeFrom(limiter, keyId, tier)));
    const query = vi.spyOn(pool, "query");
    const denied = await limiter.take(callerOf(keyId, tier));
    expect(denied).toMatchObject({ allowed: false, remaining: 0, limit: 1 });
    expect(denied.retryAfterSeconds).toBeGreaterThan(1);
    expect(query).not.toHaveBeenCalled();
    query.mockRestore();
    await pass(keyId, 3_600);
    now += 3_600_000;
    expect(await limiter.take(callerOf(keyId, tier))).toMatchObject({ allowed: true });
  });

  it("applies a changed tier at once", async () => {
    const keyId = newKey();
    await Promise.all(Array.from({ length: 11 }, () => takeFrom(limiters[0]!, keyId, TIER)));
    const more = { ratePerMinute: 6_000, burst: 60_000 };
    expect(await limiters[0]!.take(callerOf(keyId, more))).toMatchObject({ allowed: true, limit: 6_000 });
  });

  it("is full after the database lost it in a crash", async () => {
    const keyId = newKey();
    await Promise.all(Array.from({ length: 10 }, () => takeFrom(limiters[0]!, keyId, TIER)));
    await instances[0].pool.query("truncate rate_bucket");
    expect(await limiters[0]!.take(callerOf(keyId, TIER))).toMatchObject({ allowed: true, remaining: 9 });
    const { rows } = await instances[0].pool.query(
      "select relpersistence from pg_class where relname = 'rate_bucket'",
    );
    expect(rows).toEqual([{ relpersistence: "u" }]);
  });
});

describe("a busy key", () => {
  const BUSY = { ratePerMinute: 1, burst: 1_000 };
  let now = Date.now();
  let asked = 0;
  let limiter: PostgresRateLimiter;
  beforeEach(() => {
    const { pool } = openInstance(database.url, { lockTimeoutMs: 1_000 });
    pool.on("acquire", () => asked++);
    limiter = new PostgresRateLimiter({ pool, clock: { now: () => now } });
    return () => pool.end();
  });

  const takeAll = (keyId: string, count: number, tier = BUSY) =>
    Promise.all(Array.from({ length: count }, () => takeFrom(limiter, keyId, tier)));
  /** Takes a token and returns the decision with the number of queries. */
  async function takeOne(keyId: string, tier = BUSY) {
    const before = asked;
    const { allowed: yes, remaining } = await limiter.take(callerOf(keyId, tier));
    return { yes, remaining, asked: asked - before };
  }
  /** Number of queries for each of consecutive takes. */
  async function asksFor(keyId: string, count: number): Promise<string> {
    let asks = "";
    for (let n = 0; n < count; n++) asks += (await takeOne(keyId)).asked;
    return asks;
  }
  /**
   * A key with 100 takes in one window and 11 in the next: it prefetches 8 tokens, a hundredth of its bucket.
   */
  async function busyKey(): Promise<string> {
    const keyId = newKey();
    await takeAll(keyId, 100);
    now += 100;
    expect(await asksFor(keyId, 11)).toBe("10100100001");
    return keyId;
  }

  it("prefetches more tokens as it spends them, up to what the bucket holds", async () => {
    const keyId = await busyKey();
    for (let n = 1; n <= 8; n++)
      expect(await takeOne(keyId)).toEqual({ yes: true, remaining: 889 - n, asked: 0 });
    expect(await takeOne(keyId)).toEqual({ yes: true, remaining: 880, asked: 1 });
    const rest = await takeAll(keyId, 1_000);
    // One minute returns one token.
    expect(allowed(rest).length).toBeGreaterThanOrEqual(880);
    expect(allowed(rest).length).toBeLessThanOrEqual(881);
  });

  it("loses tokens unused for 100 ms and then prefetches one, also when the clock is set back", async () => {
    const late = await busyKey();
    now += 100;
    await takeAll(late, 100);
    now += 100;
    expect(await asksFor(late, 3)).toBe("101");
    const early = await busyKey();
    now -= 1;
    expect(await asksFor(early, 3)).toBe("111");
  });

  it("loses hardly any tokens when requests come in bursts", async () => {
    const keyId = newKey();
    for (let clump = 0; clump < 11; clump++) {
      expect(allowed(await takeAll(keyId, 80))).toHaveLength(80);
      now += 150;
    }
    expect(allowed(await takeAll(keyId, 1_000)).length).toBeGreaterThanOrEqual(110);
  });

  it("applies a changed tier at once", async () => {
    const keyId = await busyKey();
    expect(await takeOne(keyId, { ...BUSY, burst: 500 })).toMatchObject({ yes: true, asked: 1 });
    const other = await busyKey();
    expect(await takeOne(other, { ...BUSY, ratePerMinute: 2 })).toMatchObject({ yes: true, asked: 1 });
  });

  it("queries for each token when its bucket is low or it was idle", async () => {
    const keyId = newKey();
    await takeAll(keyId, 905);
    now += 100;
    expect(await asksFor(keyId, 3)).toBe("111");
    const idle = newKey();
    await takeAll(idle, 100);
    now += 200;
    expect(await asksFor(idle, 3)).toBe("111");
  });

  it("serves waiting requests from tokens prefetched meanwhile", async () => {
    const keyId = await busyKey();
    await asksFor(keyId, 8);
    const first = takeFrom(limiter, keyId, BUSY);
    await inFlight();
    const before = asked;
    const waiting = takeAll(keyId, 5);
    expect((await first).allowed).toBe(true);
    expect(allowed(await waiting)).toHaveLength(5);
    expect(asked - before).toBe(0);
  });

  it("spends no token twice when a batch with an unavailable bucket is retried", async () => {
    const [keyId, locked] = [await busyKey(), newKey()];
    await takeAll(locked, 1);
    await asksFor(keyId, 8);
    const holder = await instances[0].pool.connect();
    await holder.query("begin");
    await holder.query("select from rate_bucket where bucket_id = $1 for update", [locked.slice(4)]);
    const first = takeFrom(limiter, keyId, BUSY);
    await inFlight();
    const waiting = takeAll(keyId, 5);
    const stuck = takeFrom(limiter, locked, BUSY);
    expect((await first).remaining).toBe(880);
    expect((await waiting).map(({ remaining }) => remaining)).toEqual([879, 878, 877, 876, 875]);
    expect(await takeOne(keyId)).toMatchObject({ remaining: 874, asked: 0 });
    await holder.query("rollback");
    holder.release();
    expect((await stuck).allowed).toBe(true);
  });

  it("gets no more from two instances than its bucket holds, and hardly less", async () => {
    const keyId = newKey();
    const other = openInstance(database.url);
    const clock = { now: () => now };
    const both = [limiter, new PostgresRateLimiter({ pool: other.pool, clock })];
    let granted = 0;
    for (let round = 0; round < 120; round++) {
      const takes = both.flatMap((each) => Array.from({ length: 5 }, () => takeFrom(each, keyId, BUSY)));
      granted += allowed(await Promise.all(takes)).length;
      now += 20;
    }
    await other.close();
    expect(granted).toBeGreaterThan(950);
    expect(granted).toBeLessThanOrEqual(1_001);
  });

  /** Waits until the last request reached the database. */
  async function inFlight(): Promise<void> {
    for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate);
  }
});

describe("an account limit", () => {
  const newAccount = () => idOf("acct");
  const accountTier = { ratePerMinute: 10, burst: 100 };
  const fresh = () => instances.map(({ pool }) => new PostgresRateLimiter({ pool, clock: systemClock }));
  /** A hundred keys of one account. */
  const keysOf = (accountId: string) =>
    Array.from({ length: 100 }, () => ({ keyId: newKey(), accountId, tier: TIER, accountTier }));

  it("allows ten keys' worth to a hundred keys on two instances, and leaves other accounts alone", async () => {
    const keys = keysOf(newAccount());
    const other = { keyId: newKey(), accountId: newAccount(), tier: TIER, accountTier };
    const both = fresh();
    for (let round = 0; round < 3; round++) {
      const callers = Array.from({ length: 6 }, () => keys).flat();
      const decisions = await Promise.all(callers.map(async (caller, n) => both[n % 2]!.take(caller)));
      // A token returns every six seconds.
      expect(allowed(decisions).length).toBeGreaterThanOrEqual(100);
      expect(allowed(decisions).length).toBeLessThanOrEqual(110);
      const refused = decisions.filter((decision) => !decision.allowed);
      for (const { limit, remaining, ofAccount } of refused)
        expect({ limit, remaining, ofAccount }).toEqual({ limit: 10, remaining: 0, ofAccount: true });
      expect(await both[0]!.take({ ...other, keyId: newKey() })).toMatchObject({
        allowed: true,
        remaining: 9,
      });
      await instances[0].pool.query("update rate_bucket set tat = tat - 3600000000");
      both.splice(0, 2, ...fresh());
    }
  });

  it("takes no token from keys when it denies, and denies all of them from memory", async () => {
    const [limiter] = fresh();
    const [first, second, third] = keysOf(newAccount());
    const small = { ratePerMinute: 1, burst: 5 };
    const take = async (caller: typeof first) => limiter!.take({ ...caller!, accountTier: small });
    const decisions = await Promise.all(Array.from({ length: 8 }, () => take(first)));
    expect(decisions.map((decision) => decision.allowed)).toEqual(Array.from({ length: 8 }, (_, n) => n < 5));
    expect(decisions[4]).toMatchObject({ limit: 2, remaining: 5 });
    expect(decisions[5]).toMatchObject({ limit: 1, remaining: 0, ofAccount: true });
    const { pool } = instances[0];
    let asked = 0;
    const count = () => asked++;
    pool.on("acquire", count);
    expect(await take(second)).toMatchObject({ allowed: false, limit: 1, ofAccount: true });
    expect(asked).toBe(0);
    pool.off("acquire", count);
    await pool.query("update rate_bucket set tat = 0 where bucket_id = $1", [first!.accountId.slice(5)]);
    expect(await limiter!.take(first!)).toMatchObject({ allowed: true, limit: 2, remaining: 4 });
    expect(await limiter!.take(third!)).toMatchObject({ allowed: true, remaining: 9 });
  });

  it("is not the reason when the key's own bucket is empty", async () => {
    const [limiter] = fresh();
    const [caller] = keysOf(newAccount());
    const decisions = await Promise.all(Array.from({ length: 12 }, async () => limiter!.take(caller!)));
    expect(allowed(decisions)).toHaveLength(10);
    expect(decisions[11]).toMatchObject({ limit: 2, remaining: 0 });
    expect(decisions[11]).not.toHaveProperty("ofAccount");
  });

  it("recovers when two instances use it with all its keys at once", async () => {
    const keys = keysOf(newAccount());
    const both = fresh();
    const wide = { ratePerMinute: 60_000_000, burst: 10_000_000 };
    for (let round = 0; round < 20; round++) {
      const order = round % 2 === 0 ? keys : keys.toReversed();
      const takes = both.flatMap((limiter, n) =>
        (n === 0 ? order : order.toReversed()).map(async (caller) =>
          limiter.take({ ...caller, tier: wide, accountTier: wide }),
        ),
      );
      expect(allowed(await Promise.all(takes))).toHaveLength(200);
    }
  });
});
