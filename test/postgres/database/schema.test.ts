import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openOrm } from "../../../src/postgres/database/orm.ts";
import { checkDurability, openPool } from "../../../src/postgres/database/pool.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { callOf, completed, makeAccount, openInstance, PRICE, type Instance } from "../fixture.ts";

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
  it("matches the entities: tables, columns, types, keys and indexes", async () => {
    const orm = await openOrm(database.url, 1);
    try {
      const sql = await orm.schema.getUpdateSchemaSQL({ safe: false, dropTables: false, wrap: false });
      // Migrations own the checks; entities do not repeat them.
      const difference = sql
        .split("\n")
        .filter((line) => line !== "" && !/drop constraint "\w+_check";$/.test(line));
      expect(difference).toEqual([]);
    } finally {
      await orm.close();
    }
  });

  it("protects transfers, receipts and movements from changes", async () => {
    const account = await makeAccount(instance.pool, PRICE);
    const call = callOf(account);
    await instance.ledger.authorize(call);
    await instance.ledger.capture(completed(call));
    for (const table of ["transfer", "receipt", "treasury_movement", "config_version"]) {
      for (const change of [
        `update ${table} set ${table === "config_version" ? "applied_at" : "created_at"} = now()`,
        `delete from ${table}`,
        `truncate ${table}`,
      ]) {
        await expect(instance.pool.query(change), change).rejects.toThrow(`${table} is append-only`);
      }
    }
  });

  it("is on a durable database", async () => {
    expect(await checkDurability(instance.pool)).toEqual([]);
    for (const commit of ["off", "local"]) {
      const forgetful = openPool(`${database.url}?options=-c%20synchronous_commit%3D${commit}`, {
        max: 1,
        applicationName: "test",
      });
      const problem = expect.stringContaining(`synchronous_commit=${commit}`);
      expect(await checkDurability(forgetful)).toEqual([problem]);
      await forgetful.end();
    }
  });
});
