import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PostgresHealth } from "../../../src/postgres/operations/health.ts";
import { openCuttingProxy, type CuttingProxy } from "../database/cutting-proxy.ts";
import { openLedger } from "../fixture.ts";

const { database, pool: watcher } = await openLedger();
let proxy: CuttingProxy;
let health: PostgresHealth;
beforeEach(async () => {
  proxy = await openCuttingProxy(database.url);
  health = new PostgresHealth(proxy.url, { aheadMs: 0 });
});
afterEach(async () => {
  await proxy.close();
  await health.close();
});

const check = () => health.check(new AbortController().signal);
const state = () => health.state(new AbortController().signal);

async function connections(): Promise<number> {
  const { rows } = await watcher.query<{ count: bigint }>(
    `select count(*) from pg_stat_activity where application_name = 'toolgate health'
      and datname = current_database()`,
  );
  return Number(rows[0]?.count);
}

describe("database health", () => {
  it("shares one query and one connection between concurrent checks", async () => {
    // On a busy machine, the first query may take longer than a check waits.
    await expect
      .poll(async () => new Set(await Promise.all(Array.from({ length: 2_000 }, check))))
      .toEqual(new Set([true]));
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
    await expect.poll(check).toBe(false);
  });

  it("recovers after a lost connection", async () => {
    expect(await check()).toBe(true);
    proxy.cutNextAnswer();
    await expect.poll(check).toBe(false);
    await expect.poll(check).toBe(true);
  });

  it("is unhealthy while the database accepts no writes, as a standby does", async () => {
    const standby = new PostgresHealth(`${database.url}?options=-c%20default_transaction_read_only%3Don`, {
      aheadMs: 0,
    });
    try {
      expect(await standby.state(new AbortController().signal)).toBe("read-only");
      expect(await standby.check(new AbortController().signal)).toBe(false);
    } finally {
      await standby.close();
    }
  });

  it("is unhealthy until the database has the schema's migrations", async () => {
    const { rows } = await watcher.query(
      "delete from schema_file where name like 'migrations/%' returning *",
    );
    const applied = rows as { name: string; checksum: string }[];
    await expect.poll(state).toBe("old schema");
    await watcher.query("alter table schema_file rename to schema_file_away");
    await expect.poll(state).toBe("old schema");
    await watcher.query("alter table schema_file_away rename to schema_file");
    for (const { name, checksum } of applied) {
      await watcher.query("insert into schema_file (name, checksum) values ($1, $2)", [name, checksum]);
    }
    await expect.poll(state).toBe("ok");
  });
});
