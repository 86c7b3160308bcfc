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

  it("is unhealthy while the database accepts no writes, as a standby does", async () => {
    const standby = new PostgresHealth(`${database.url}?options=-c%20default_transaction_read_only%3Don`);
    try {
      expect(await standby.state(new AbortController().signal)).toBe("read-only");
      expect(await standby.check(new AbortController().signal)).toBe(false);
    } finally {
      await standby.close();
    }
  });

  it("is unhealthy until the database has the schema's migrations", async () => {
    const { rows } = await watcher.pool.query(
      "delete from schema_file where name like 'migrations/%' returning *",
    );
    const applied = rows as { name: string; checksum: string }[];
    expect(await health.state(new AbortController().signal)).toBe("old schema");
    await outdated();
    await watcher.pool.query("alter table schema_file rename to schema_file_away");
    expect(await health.state(new AbortController().signal)).toBe("old schema");
    await outdated();
    await watcher.pool.query("alter table schema_file_away rename to schema_file");
    for (const { name, checksum } of applied) {
      await watcher.pool.query("insert into schema_file (name, checksum) values ($1, $2)", [name, checksum]);
    }
    expect(await health.state(new AbortController().signal)).toBe("ok");
  });
});
