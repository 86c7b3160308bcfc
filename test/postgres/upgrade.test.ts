import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { grantServing } from "../../src/postgres/grants.ts";
import { migrate } from "../../src/postgres/migrate.ts";
import { openOrm } from "../../src/postgres/orm.ts";
import { idFromUuid } from "../../src/postgres/row-mapping.ts";
import { databaseUrl, query } from "../support/database-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { SERVING } from "../support/template.ts";
import { callOf, expectCleanAudit, failed, openInstance, PRICE, type Instance } from "./fixture.ts";

const name = `upgrade_${randomBytes(6).toString("hex")}`;
const account = randomUUID();
const [running, forgotten] = [randomUUID(), randomUUID()];

let fresh: TestDatabase;
let upgraded: Instance;
let url: string;
/** What came of other work on a table that a migration had to wait for. */
let beside: PromiseSettledResult<unknown>;

/** A ledger as it was before keys had limits, with functions that said other things. */
const BEFORE = `
  insert into account (id, wallet, rate_per_minute, burst) values ('${account}', 'wallet', 60, 10);
  select ledger_adjust('${account}', ${10n * PRICE}, '\\x01', 'test');
  insert into api_key (id, account_id, sha256, prefix, name, scopes)
  values ('${account}', '${account}', sha256('key'), 'sk-agent-abcd', 'old', '{}');
  insert into run (id, account_id, tool, status, owner, lease_until, price, paid_by, started_at)
  select id, '${account}', 'vram_estimate', 'active', '${account}', now() + n * interval '1 hour', ${PRICE}, 'balance', now()
  from (values ('${running}'::uuid, 1), ('${forgotten}', -1)) run (id, n);
  insert into hold (run_id, account_id, amount, state) select id, account_id, price, 'open' from run;
  update account set available = available - ${2n * PRICE};
  create or replace function ledger_begin(calls ledger_call[], instance uuid, lease interval)
  returns table (n integer, kind text, balance bigint, result json, receipt issued_receipt)
  language plpgsql security definer set search_path = public, pg_temp as $$ begin end $$;
  create or replace function ledger_release(runs uuid[]) returns void language plpgsql as $$ begin end $$;`;

beforeAll(async () => {
  const serverUrl = inject("postgresUrl");
  await query(serverUrl, `create database ${name}`);
  url = databaseUrl(serverUrl, name);
  const orm = await openOrm(url, 1);
  await orm.migrator.up({ to: "0014-relays" });
  await orm.close();
  await query(url, BEFORE);
  upgraded = openInstance(url);
  // What an instance that stays open has prepared is good for the new schema too.
  await expect(upgraded.ledger.authorize(callOf(idFromUuid("acct", account)))).rejects.toThrow(
    "without an answer",
  );
  await migrateBesideReader();
  await grantServing(url, SERVING.role);
  fresh = await createTestDatabase();
}, 30_000);
afterAll(async () => {
  await upgraded.close();
  await Promise.all([fresh.drop(), query(inject("postgresUrl"), `drop database ${name} with (force)`)]);
});

/** Migrates while somebody has read runs and stays in that transaction, as a backup does, until a migration has waited for it. */
async function migrateBesideReader(): Promise<void> {
  const { pool } = upgraded;
  const reader = await pool.connect();
  await reader.query("begin");
  await reader.query("select from run");
  const migrated = migrate(url);
  const waiting =
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  while ((await pool.query(waiting)).rowCount === 0);
  [beside] = await Promise.allSettled([pool.query("select from run for update")]);
  await reader.query("commit");
  reader.release();
  await migrated;
}

describe("a database that was made before keys had limits", () => {
  it.each([
    [
      "functions",
      "select pg_get_functiondef(oid) as it, proacl::text from pg_proc where pronamespace = 'public'::regnamespace and prokind = 'f'",
    ],
    [
      "columns",
      `select relname || '.' || attname || ' ' || attnum || ' ' || format_type(atttypid, atttypmod) || attnotnull as it from pg_attribute
       join pg_class on pg_class.oid = attrelid where relnamespace = 'public'::regnamespace and attnum > 0 and relkind in ('r', 'c', 'v')`,
    ],
    ["indexes", "select indexdef as it from pg_indexes where schemaname = 'public'"],
    [
      "constraints",
      "select conname || pg_get_constraintdef(oid) as it from pg_constraint where connamespace = 'public'::regnamespace",
    ],
    ["triggers", "select pg_get_triggerdef(oid) as it from pg_trigger where not tgisinternal"],
  ])("has the same %s as a new one", async (_, text) => {
    const of = async (database: string) => (await query(database, `${text} order by 1`)).rows;
    expect((await of(fresh.url)).length).toBeGreaterThan(3);
    expect(await of(url)).toEqual(await of(fresh.url));
  });

  it("has held up nobody for long while its migrations had to wait", () => {
    expect(beside).toMatchObject({ status: "fulfilled" });
  });

  it("lets the calls end that were under way, and others begin", async () => {
    const accountId = idFromUuid("acct", account);
    expect(await upgraded.sweeper.sweep()).toBe(1);
    expect(await upgraded.ledger.balance(accountId)).toBe(9n * PRICE);
    const keyId = idFromUuid("key", account);
    const call = callOf(accountId, { keyId });
    expect(await upgraded.ledger.authorize(call)).toEqual({ kind: "started" });
    expect(await upgraded.ledger.finish(failed(call))).toEqual({ kind: "released" });
    expect(await upgraded.ledger.balance(accountId)).toBe(9n * PRICE);
    await expectCleanAudit(upgraded.pool);
  });
});
