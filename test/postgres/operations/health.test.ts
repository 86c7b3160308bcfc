import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { PostgresHealth } from "../../../src/postgres/operations/health.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { openCuttingProxy, type CuttingProxy } from "../database/cutting-proxy.ts";
import { openInstance, type Instance } from "../fixture.ts";

let database: TestDatabase;
let proxy: CuttingProxy;
let watcher: Instance;
let health: PostgresHealth;
beforeAll(async () => {
  database = await createTestDatabase();
  watcher = openInstance(database.url);
});
beforeEach(async () => {
  proxy = await openCuttingProxy(database.url);
  health = new PostgresHealth(proxy.url);
});
afterEach(async () => {
  await proxy.close();
  await health.close();
});
afterAll(async () => {
  await watcher.close();
  await database.drop();
});

const check = () => health.check(new AbortController().signal);
const outdated = () => new Promise((resolve) => setTimeout(resolve, 600));

async function connections(): Promise<number> {
  const { rows } = await watcher.pool.query<{ count: bigint }>(
    `select count(*) from pg_stat_activity where application_name = 'toolgate health'
      and datname = current_database()`,
  );
  return Number(rows[0]?.count);
}

describe("database health", () => {
  it("shares one query and one connection between concurrent checks", async () => {
    expect(new Set(await Promise.all(Array.from({ length: 2_000 }, check)))).toEqual(new Set([true]));
    expect(await connections()).toBe(1);
  });

  it("caches a result briefly", async () => {
    expect(await check()).toBe(true);
    proxy.freeze();
    expect(await check()).toBe(true);
  });

  it("reports an unresponsive database as unhealthy, also without a deadline", async () => {
    expect(await check()).toBe(true);
    proxy.freeze();
    await outdated();
    expect(await check()).toBe(false);
  });

  it("recovers after a lost connection", async () => {
    expect(await check()).toBe(true);
    await outdated();
    proxy.cutNextAnswer();
    expect(await check()).toBe(false);
    await outdated();
    expect(await check()).toBe(true);
  });
});
