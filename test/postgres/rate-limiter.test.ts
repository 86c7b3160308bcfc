import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RateDecision } from "../../src/domain/rate-limit.ts";
import { newId } from "../../src/domain/ids.ts";
import { PostgresRateLimiter } from "../../src/postgres/rate-limiter.ts";
import { systemClock, systemRandom } from "../../src/system.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { openInstance, type Instance } from "./fixture.ts";

const TIER = { ratePerMinute: 60, burst: 10 };

let database: TestDatabase;
let instances: Instance[];
let limiters: PostgresRateLimiter[];

beforeAll(async () => {
  database = await createTestDatabase();
  instances = [openInstance(database.url), openInstance(database.url)];
  limiters = instances.map(({ pool }) => new PostgresRateLimiter({ pool, clock: systemClock }));
});
afterAll(async () => {
  await Promise.all(instances.map((instance) => instance.close()));
  await database.drop();
});

const newKey = () => newId("key", systemClock, systemRandom);
const allowed = (decisions: RateDecision[]) => decisions.filter((decision) => decision.allowed);

/** As if that many seconds had passed for the bucket. */
async function pass(keyId: string, seconds: number): Promise<void> {
  await instances[0]!.pool.query("update rate_bucket set tat = tat - $2::bigint where key_id = $1", [
    keyId.slice(4),
    seconds * 1_000_000,
  ]);
}

describe("a token bucket", () => {
  it("lets 10 of 40 at once through, in order, and says what is left", async () => {
    const keyId = newKey();
    const before = Math.floor(Date.now() / 1000);
    const decisions = await Promise.all(Array.from({ length: 40 }, () => limiters[0]!.take(keyId, TIER)));
    expect(decisions.map((decision) => decision.allowed)).toEqual(Array.from({ length: 40 }, (_, n) => n < 10));
    expect(allowed(decisions).map(({ remaining }) => remaining)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    for (const [index, decision] of decisions.entries()) {
      expect(decision.limit).toBe(60);
      expect(decision.resetAt - before).toBeGreaterThanOrEqual(Math.min(index + 1, 10));
      expect(decision.resetAt - before).toBeLessThanOrEqual(Math.min(index + 1, 10) + 5);
    }
    expect(decisions[39]).toMatchObject({ remaining: 0, retryAfterSeconds: 1 });
  });

  it("is one for all instances: 10 of 60 over two of them, whether it is new or was used before", async () => {
    const keyId = newKey();
    for (let round = 0; round < 8; round++) {
      const fresh = instances.map(({ pool }) => new PostgresRateLimiter({ pool, clock: systemClock }));
      const decisions = await Promise.all(Array.from({ length: 60 }, (_, n) => fresh[n % 2]!.take(keyId, TIER)));
      expect(allowed(decisions)).toHaveLength(10);
      await pass(keyId, 3_600);
    }
  });

  it("refills with time, up to its burst", async () => {
    const keyId = newKey();
    const takeMany = (count: number) => {
      const limiter = new PostgresRateLimiter({ pool: instances[0]!.pool, clock: systemClock });
      return Promise.all(Array.from({ length: count }, () => limiter.take(keyId, TIER)));
    };
    expect(allowed(await takeMany(20))).toHaveLength(10);
    await pass(keyId, 3);
    expect(allowed(await takeMany(20))).toHaveLength(3);
    await pass(keyId, 3_600);
    expect(allowed(await takeMany(20))).toHaveLength(10);
  });

  it("that is empty denies from memory, and allows again in time", async () => {
    const keyId = newKey();
    const tier = { ratePerMinute: 600, burst: 2 };
    const limiter = limiters[0]!;
    await Promise.all(Array.from({ length: 3 }, () => limiter.take(keyId, tier)));
    const { pool } = instances[0]!;
    const query = pool.query;
    let asked = 0;
    pool.query = ((...args: Parameters<typeof query>) => {
      asked++;
      return query.apply(pool, args);
    }) as typeof query;
    const denied = await limiter.take(keyId, tier);
    expect(denied).toMatchObject({ allowed: false, remaining: 0, limit: 600, retryAfterSeconds: 1 });
    expect(asked).toBe(0);
    pool.query = query;
    await expect
      .poll(async () => (await limiter.take(keyId, tier)).allowed, { interval: 20, timeout: 3_000 })
      .toBe(true);
  });

  it("of a changed tier counts by that tier at once", async () => {
    const keyId = newKey();
    await Promise.all(Array.from({ length: 11 }, () => limiters[0]!.take(keyId, TIER)));
    const more = { ratePerMinute: 6_000, burst: 2_000 };
    expect(await limiters[0]!.take(keyId, more)).toMatchObject({ allowed: true, limit: 6_000 });
  });

  it("is full after the database lost it in a crash", async () => {
    const keyId = newKey();
    await Promise.all(Array.from({ length: 10 }, () => limiters[0]!.take(keyId, TIER)));
    await instances[0]!.pool.query("truncate rate_bucket");
    expect(await limiters[0]!.take(keyId, TIER)).toMatchObject({ allowed: true, remaining: 9 });
    const { rows } = await instances[0]!.pool.query(
      "select relpersistence from pg_class where relname = 'rate_bucket'",
    );
    expect(rows).toEqual([{ relpersistence: "u" }]);
  });
});
