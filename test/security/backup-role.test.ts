import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { migrate } from "../../src/postgres/database/migrate.ts";
import { runToolgateHere } from "../cli/toolgate.ts";
import { databaseUrl, query } from "../support/database-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { SERVING } from "../support/template.ts";

/** What pgBackRest runs: a label, a restore point, a WAL switch, and where the files are. */
const PGBACKREST = [
  "select pg_create_restore_point('test')",
  "select pg_switch_wal()",
  "select pg_backup_start('test', true); select * from pg_backup_stop(false)",
];

const role = `backup_${randomBytes(6).toString("hex")}`;
const password = randomBytes(12).toString("hex");
let database: TestDatabase;
let url: string;
beforeAll(async () => {
  database = await createTestDatabase();
  url = as(database.url);
  await query(database.url, `create role ${role} login password '${password}'`);
  expect(await grantTo(role)).toEqual({ code: 0, output: `{"applied":[],"granted_backup_to":"${role}"}\n` });
});
afterAll(async () => {
  await query(database.url, `drop owned by ${role}; drop role ${role}`);
  await database.drop();
});

/** The URL of the same database for the backup role. */
function as(owner: string): string {
  return Object.assign(new URL(owner), { username: role, password }).href;
}

async function grantTo(name: string, owner = database.url): Promise<{ code: unknown; output: string }> {
  const command = ["migrate", "--grant-backup-to", name, "--json"];
  const { code, stdout, stderr } = await runToolgateHere({ DATABASE_URL: owner }, command);
  return { code, output: stdout + stderr };
}

async function refusal(statement: string): Promise<string | undefined> {
  return await query(url, statement).then(
    () => undefined,
    (error: unknown) => String(error),
  );
}

it("reads every table and sequence, also those of later migrations", async () => {
  await query(database.url, "create table later (id bigserial)");
  const { rows } = await query(
    database.url,
    `select quote_ident(relname) as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'S')`,
  );
  expect(rows.length).toBeGreaterThan(30);
  for (const { name } of rows as { name: string }[])
    expect(await refusal(`select from ${name} limit 1`), name).toBeUndefined();
  expect(await refusal("lock table account in access share mode")).toMatch(/only be used in transaction/);
  await query(database.url, "drop table later");
});

it("starts and ends a physical backup, and reads where the files are", async () => {
  for (const statement of PGBACKREST) expect(await refusal(statement), statement).toBeUndefined();
  const { rows } = await query(url, "select current_setting('data_directory') as folder");
  expect(rows).toEqual([{ folder: expect.stringMatching(/^\//) }]);
});

it("may replicate", async () => {
  const { rows } = await query(url, "select rolreplication from pg_roles where rolname = current_user");
  expect(rows).toEqual([{ rolreplication: true }]);
});

it.each([
  "insert into account (id, wallet, rate_per_minute, burst) values (gen_random_uuid(), 'w', 1, 1)",
  "update account set available = 1",
  "delete from idempotency",
  "truncate receipt",
  "select ledger_release(array[gen_random_uuid()])",
  "create table mine (x int)",
  "create temporary table mine (x int)",
  "create schema mine",
  "create role mine",
  "select pg_read_file('postgresql.conf')",
  "select pg_promote()",
  "select pg_reload_conf()",
  "alter system set archive_command = ''",
  "copy (select 1) to program 'id'",
])("cannot %s", async (statement) => {
  expect(await refusal(statement)).toMatch(/permission denied|must be/);
});

it("revokes what it held beyond that", async () => {
  await query(database.url, `grant all on all tables in schema public to ${role}`);
  expect(await refusal("delete from idempotency")).toBeUndefined();
  expect((await grantTo(role)).code).toBe(0);
  expect(await refusal("delete from idempotency")).toMatch(/permission denied/);
});

it.each([
  ["a role that serves", SERVING.role, /^--grant-backup-to: toolgate_serving serves \(--grant-to\)/],
  ["a superuser", undefined, /is a superuser or nearly one/],
  ["a missing role", "missing", /there is no role missing/],
])("refuses %s", async (_, name, says) => {
  expect(await grantTo(name ?? new URL(database.url).username)).toEqual({
    code: 1,
    output: expect.stringMatching(says),
  });
});

it("refuses a role that can write through another role", async () => {
  const group = `${role}_group`;
  await query(database.url, `create role ${group}; grant delete on idempotency to ${group}`);
  await query(database.url, `grant ${group} to ${role}`);
  try {
    const refused = { code: 1, output: expect.stringMatching(/could still delete on idempotency/) };
    expect(await grantTo(role)).toEqual(refused);
  } finally {
    await query(database.url, `drop owned by ${group}; drop role ${group}`);
  }
});

it("explains that only a superuser grants it", async () => {
  const owner = `${role}_owner`;
  await query(database.url, `create role ${owner} login password '${password}'`);
  const name = `test_${randomBytes(6).toString("hex")}`;
  await query(database.url, `create database ${name} owner ${owner}`);
  const owned = databaseUrl(database.url, name);
  try {
    const ownerUrl = Object.assign(new URL(owned), { username: owner, password }).href;
    await query(owned, `alter schema public owner to ${owner}`);
    await migrate(ownerUrl);
    expect(await grantTo(role, ownerUrl)).toEqual({
      code: 1,
      output: expect.stringMatching(/^--grant-backup-to: DATABASE_URL's role must be a superuser/),
    });
  } finally {
    await query(database.url, `drop database ${name} with (force)`);
    await query(database.url, `drop role ${owner}`);
  }
});

it("connects for replication as long as pg_hba.conf lets it", async () => {
  const client = new pg.Client({ connectionString: `${url}?replication=database` });
  await client.connect();
  try {
    expect((await client.query("IDENTIFY_SYSTEM")).rows).toHaveLength(1);
  } finally {
    await client.end();
  }
});
