import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { migrate } from "../../src/postgres/migrate.ts";
import { MIGRATIONS } from "../../src/postgres/migrations/index.ts";
import { MIGRATION_NAMES } from "../../src/postgres/migrations/names.ts";
import { openOrm } from "../../src/postgres/orm.ts";
import { checkDurability, openPool } from "../../src/postgres/pool.ts";
import { checkDatabase } from "../../src/postgres/start-checks.ts";
import { databaseUrl, query } from "../support/database-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { callOf, completed, makeAccount, openInstance, PRICE, type Instance } from "./fixture.ts";

let database: TestDatabase;
let instance: Instance;

beforeAll(async () => {
  database = await createTestDatabase();
  instance = openInstance(database.url);
});
afterAll(async () => {
  await instance.close();
  await database.drop();
});

describe("the schema", () => {
  it("is told to be current by the names of all its migrations", async () => {
    const orm = await openOrm(database.url, 1);
    const executed = await orm.migrator.getExecuted();
    await orm.close();
    expect(executed.map(({ name }) => name)).toEqual(MIGRATION_NAMES);
    expect(MIGRATION_NAMES).toHaveLength(MIGRATIONS.length);
    expect(await checkDatabase(database.url)).toMatchObject({ problems: [] });
    const empty = databaseUrl(database.url, "template1");
    expect(await checkDatabase(empty)).toMatchObject({
      problems: [expect.stringContaining(`${MIGRATIONS.length} migrations behind`)],
    });
  });

  it("is what the entities say: tables, columns, types, keys and indexes", async () => {
    const orm = await openOrm(database.url, 1);
    try {
      const sql = await orm.schema.getUpdateSchemaSQL({ safe: false, dropTables: false, wrap: false });
      // Checks are the migrations' own: entities do not repeat them.
      const difference = sql
        .split("\n")
        .filter((line) => line !== "" && !/drop constraint "\w+_check";$/.test(line));
      expect(difference).toEqual([]);
    } finally {
      await orm.close();
    }
  });

  it("is migrated once by many instances at once", async () => {
    const serverUrl = inject("postgresUrl");
    const name = `migrate_${randomBytes(6).toString("hex")}`;
    await query(serverUrl, `create database ${name}`);
    try {
      const url = databaseUrl(serverUrl, name);
      const results = await Promise.all(Array.from({ length: 4 }, () => migrate(url)));
      expect(results.map(({ applied }) => applied.length).toSorted((a, b) => a - b)).toEqual([
        0,
        0,
        0,
        MIGRATIONS.length,
      ]);
      expect(await migrate(url)).toEqual({ applied: [] });
    } finally {
      await query(serverUrl, `drop database ${name} with (force)`);
    }
  });

  it("keeps transfers, receipts and movements as they were written", async () => {
    const account = await makeAccount(instance.pool, PRICE);
    const call = callOf(account);
    await instance.ledger.authorize(call);
    await instance.ledger.finish(completed(call));
    for (const table of ["transfer", "receipt", "treasury_movement"]) {
      for (const change of [
        `update ${table} set created_at = now()`,
        `delete from ${table}`,
        `truncate ${table}`,
      ]) {
        await expect(instance.pool.query(change), change).rejects.toThrow(`${table} is append-only`);
      }
    }
  });

  it("lies on a database that does not forget", async () => {
    expect(await checkDurability(instance.pool)).toEqual([]);
    const forgetful = openPool(`${database.url}?options=-c%20synchronous_commit%3Doff`, {
      max: 1,
      applicationName: "test",
    });
    expect(await checkDurability(forgetful)).toEqual([expect.stringContaining("synchronous_commit=off")]);
    await forgetful.end();
  });
});
