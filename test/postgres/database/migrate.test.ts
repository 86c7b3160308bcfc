import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { migrate } from "../../../src/postgres/database/migrate.ts";
import { schemaState, readSqlSchema } from "../../../src/postgres/database/sql-files.ts";
import { PostgresHealth } from "../../../src/postgres/operations/health.ts";
import { openPool } from "../../../src/postgres/database/pool.ts";
import { checkDatabase } from "../../../src/postgres/database/start-checks.ts";
import { databaseUrl, query } from "../../support/database-server.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { SERVING } from "../../support/template.ts";
import { systemClock } from "../../../src/system.ts";
import { callOf, completed, expectCleanAudit, makeAccount, openInstance, PRICE } from "../fixture.ts";
import { CATALOG, catalogOf } from "./catalog.ts";
import { makeUpSchema, type MadeUpSchema } from "./made-up-schema.ts";

const FILES = (({ frozen, repeatable }) => frozen.length + repeatable.length)(readSqlSchema());
const BASELINE = "migrations/0001_baseline";
const REFUND = "functions/ledger_refund.sql";
/** What a made-up column of receipts applies: its migration, and the views that are made again. */
const VIEWS = ["account_limits", "budget_limit", "issued_receipt", "ledger_entry"];
const MADE_UP = ["migrations/0002_made_up", ...VIEWS.map((view) => `views/${view}`)];

let database: TestDatabase;
let next: MadeUpSchema;
beforeEach(async () => {
  [database, next] = await Promise.all([createTestDatabase(), makeUpSchema()]);
});
afterEach(async () => {
  await Promise.all([database.drop(), next.remove()]);
});

const MAY_REFUND = `select has_function_privilege('${SERVING.role}', oid, 'execute') as may
  from pg_proc where proname = 'ledger_refund'`;
const mayRefund = async () => (await query(database.url, MAY_REFUND)).rows;

async function problemsOf(url: string): Promise<readonly string[]> {
  return (await checkDatabase(url, systemClock)).problems;
}

/** A new empty database, or a copy of another one. */
async function emptyDatabase(template = "template1"): Promise<{ url: string; drop(): Promise<unknown> }> {
  const server = inject("postgresUrl");
  const name = `migrate_${randomBytes(6).toString("hex")}`;
  await query(server, `create database ${name} template ${template}`);
  return {
    url: databaseUrl(server, name),
    drop: () => query(server, `drop database ${name} with (force)`),
  };
}

describe("migrate", () => {
  it("creates the schema once when many instances run it at once", async () => {
    const empty = await emptyDatabase();
    try {
      expect(await problemsOf(empty.url)).toEqual([expect.stringContaining("has no schema yet; run: ")]);
      const results = await Promise.all(Array.from({ length: 4 }, () => migrate(empty.url)));
      expect(results.map(({ applied }) => applied.length).toSorted((a, b) => a - b)).toEqual([
        0,
        0,
        0,
        FILES,
      ]);
      expect(await migrate(empty.url)).toEqual({ applied: [] });
      expect(await problemsOf(empty.url)).toEqual([]);
      const copy = await emptyDatabase(new URL(empty.url).pathname.slice(1));
      expect(await problemsOf(copy.url)).toEqual([expect.stringMatching(/restored .*\(cluster \d+\/\d+\)/)]);
      await copy.drop();
    } finally {
      await empty.drop();
    }
  });

  it.each([
    ["has tables without a record", "drop table schema_file"],
    ["has no record of the baseline", `delete from schema_file where name = '${BASELINE}'`],
    ["has another baseline", `update schema_file set checksum = '' where name = '${BASELINE}'`],
  ])("refuses a database from before 0.1.0, which %s, as serve and readiness do", async (_, made) => {
    await query(database.url, made);
    const advice = expect.stringMatching(/made before 0\.1\.0.*no version.*create a new one, run migrate/);
    await expect(migrate(database.url)).rejects.toMatchObject({ name: "SchemaError", message: advice });
    expect(await problemsOf(database.url)).toEqual([advice]);
    const health = new PostgresHealth(database.servingUrl, { aheadMs: 0 });
    await expect.poll(() => health.state(new AbortController().signal)).toBe("old schema");
    await health.close();
  });

  it("continues when the first migrate was interrupted, or other programs have tables", async () => {
    const empty = await emptyDatabase();
    try {
      await query(
        empty.url,
        "create table migration (id serial, name text, executed_at timestamptz); create table made_up ()",
      );
      expect(await problemsOf(empty.url)).toEqual([expect.stringContaining("has no schema yet; run: ")]);
      expect((await migrate(empty.url)).applied).toHaveLength(FILES);
    } finally {
      await empty.drop();
    }
  });

  it("applies a new migration and what changed, and keeps the rights of the serving role", async () => {
    await next.write("migrations/0002_made_up.sql", "alter table receipt add column made_up text;");
    const refund = await next.read(REFUND);
    await next.write(REFUND, refund.replace("refunded_now boolean", "made_up boolean"));
    await next.raise(1);
    expect(await problemsOf(database.url)).toEqual([]);
    const applied = [...MADE_UP, "functions/ledger_refund"];
    expect(await migrate(database.url, next.folder)).toEqual({ applied });
    // A view with `receipt.*` has the column only if it is made again.
    await query(database.url, "select made_up from issued_receipt");
    expect(await mayRefund()).toEqual([{ may: true }]);
    expect(await migrate(database.url, next.folder)).toEqual({ applied: [] });
  });

  it("applies what depends on a view again when the view loses a column", async () => {
    await next.write(
      "views/issued_receipt.sql",
      "create or replace view issued_receipt as select id, run_id, account_id from receipt;",
    );
    await next.raise(1);
    // Nothing is left half done: a function that reads the lost columns is no error until it runs.
    const { applied } = await migrate(database.url, next.folder);
    expect(applied[0]).toBe("views/issued_receipt");
    expect(applied).toContain("functions/ledger_refund");
    expect(await mayRefund()).toEqual([{ may: true }]);
  });

  it("leaves one function of a name when its parameters change, and none when its file is gone", async () => {
    await next.write(
      "functions/relay_wait_day.sql",
      "create function relay_wait_day(today date) returns integer language sql as $$ select 1 $$;",
    );
    await next.write("functions/relay_wait.sql", undefined);
    await next.raise(1);
    await migrate(database.url, next.folder);
    const { rows } = await query(
      database.url,
      "select oid::regprocedure::text as name from pg_proc where proname ~ '^relay_wait' order by 1",
    );
    expect(rows).toEqual([{ name: "relay_wait_day(date)" }]);
  });

  it("changes nothing when one of the files is wrong", async () => {
    const functions = CATALOG[0]?.[1] ?? "";
    const before = await catalogOf(database.url, functions);
    await next.write(REFUND, (await next.read(REFUND)).replace("begin", "beg in"));
    await next.write(
      "functions/made_up.sql",
      "create function made_up() returns integer language sql as 'select 1';",
    );
    await expect(migrate(database.url, next.folder)).rejects.toThrow("syntax error");
    expect(await catalogOf(database.url, functions)).toEqual(before);
  });

  it("refuses a frozen migration that was changed after it was applied", async () => {
    await next.write(`${BASELINE}.sql`, `${await next.read(`${BASELINE}.sql`)}\n`);
    await expect(migrate(database.url, next.folder)).rejects.toThrow(
      `${BASELINE}.sql was changed after it was applied; restore the file`,
    );
  });

  it("refuses a database that a later version has migrated, and serve accepts it", async () => {
    await next.write(REFUND, `${await next.read(REFUND)}\n`);
    await next.raise(1);
    await migrate(database.url, next.folder);
    await expect(migrate(database.url)).rejects.toThrow("a later version of the program has migrated");
    expect(await problemsOf(database.url)).toEqual([]);
  });

  it("makes serve wait for a changed function too", async () => {
    await query(database.url, "update schema_file set checksum = '' where name = 'functions/rate_take'");
    expect(await problemsOf(database.url)).toEqual([
      expect.stringContaining("the schema is outdated (changed files: 1); run: "),
    ]);
    expect(await migrate(database.url)).toEqual({ applied: ["functions/rate_take"] });
  });

  it("holds up no call while it waits for a table that is read", async () => {
    await next.write("migrations/0002_made_up.sql", "alter table run add column made_up text;");
    await next.raise(1);
    const instance = openInstance(database.url);
    const reader = await instance.pool.connect();
    try {
      await reader.query("begin");
      await reader.query("select from run");
      const migrated = migrate(database.url, next.folder);
      const waiting = `select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`;
      while ((await instance.pool.query(waiting)).rowCount === 0);
      await instance.pool.query("select from run for update");
      await reader.query("commit");
      expect((await migrated).applied).toEqual(MADE_UP);
    } finally {
      reader.release();
      await instance.close();
    }
  });

  it("leaves an instance that serves working on the new schema", async () => {
    const instance = openInstance(database.servingUrl);
    const owner = openPool(database.url, { max: 1, applicationName: "owner" });
    try {
      const account = await makeAccount(owner, 10n * PRICE);
      const [before, after] = [
        callOf(account, { idempotencyKey: "a" }),
        callOf(account, { idempotencyKey: "b" }),
      ];
      expect(await instance.ledger.authorize(before)).toEqual({ kind: "started" });
      for (const { path } of readSqlSchema().repeatable)
        await next.write(`${path}.sql`, `${await next.read(`${path}.sql`)}\n`);
      await next.raise(1);
      await migrate(database.url, next.folder);
      expect(await instance.ledger.capture(completed(before))).toMatchObject({ kind: "captured" });
      expect(await instance.ledger.authorize(after)).toEqual({ kind: "started" });
      expect(await instance.ledger.capture(completed(after))).toMatchObject({ kind: "captured" });
      await expectCleanAudit(owner);
    } finally {
      await Promise.all([instance.close(), owner.end()]);
    }
  });

  it("records each file with its checksum", async () => {
    const pool = openPool(database.url, { max: 1, applicationName: "state" });
    try {
      const state = await schemaState(pool, readSqlSchema());
      expect(state).toEqual({ conflict: undefined, ahead: false, pending: [], removed: [] });
      expect((await pool.query("select from schema_file")).rowCount).toBe(FILES);
    } finally {
      await pool.end();
    }
  });
});
