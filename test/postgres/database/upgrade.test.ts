import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { grantServing } from "../../../src/postgres/database/grants.ts";
import { migrate } from "../../../src/postgres/database/migrate.ts";
import { readSqlSchema } from "../../../src/postgres/database/sql-files.ts";
import { SYSTEM_ACCOUNTS } from "../../../src/postgres/database/system-accounts.ts";
import { audited } from "../../../src/postgres/operations/audit.ts";
import { idFromUuid } from "../../../src/postgres/database/row-mapping.ts";
import { databaseUrl, query } from "../../support/database-server.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { SERVING } from "../../support/template.ts";
import { expectCleanAudit, inTransaction, openInstance, PRICE, type Instance } from "../fixture.ts";
import { CATALOG, catalogOf } from "./catalog.ts";
import { frozenSchema } from "./made-up-schema.ts";

const SCHEMAS = readSqlSchema().frozen.map(({ name }) => name);
const dataOf = (schema: string) => path.join(import.meta.dirname, "schemas", `${schema}.sql`);
const ACCOUNT = idFromUuid("acct", "01900000-0000-7000-8000-000000000001");

it.each(SCHEMAS)("the frozen schema %s has data that its upgrade is tested with", (schema) => {
  expect(existsSync(dataOf(schema))).toBe(true);
});

describe.each(SCHEMAS)("a database with data, upgraded from %s", (schema) => {
  let fresh: TestDatabase;
  let upgraded: Instance;
  let url: string;
  const name = `upgrade_${randomBytes(6).toString("hex")}`;

  beforeAll(async () => {
    const server = inject("postgresUrl");
    await query(server, `create database ${name}`);
    url = databaseUrl(server, name);
    for (const one of SCHEMAS.slice(0, SCHEMAS.indexOf(schema) + 1)) {
      const old = await frozenSchema(one);
      await migrate(url, old.folder);
      await old.remove();
      await query(url, readFileSync(dataOf(one), "utf8"));
    }
    await migrate(url);
    await grantServing(url, SERVING.role);
    fresh = await createTestDatabase();
    upgraded = openInstance(url);
  });
  afterAll(async () => {
    await upgraded.close();
    await Promise.all([fresh.drop(), query(inject("postgresUrl"), `drop database ${name} with (force)`)]);
  });

  it.each(CATALOG)("has the same %s as a new one", async (_, text) => {
    expect(await catalogOf(url, text)).toEqual(await catalogOf(fresh.url, text));
    expect((await catalogOf(url, text)).length).toBeGreaterThan(0);
  });

  it("keeps its money, releases what expired, and charges new calls", async () => {
    await expectCleanAudit(upgraded.pool);
    expect(await upgraded.balance(ACCOUNT)).toBe(9n * PRICE);
    expect(await upgraded.sweeper.sweep()).toBe(1);
    expect(await upgraded.balance(ACCOUNT)).toBe(10n * PRICE);
    await upgraded.buy(ACCOUNT, { idempotencyKey: "new" });
    expect(await upgraded.balance(ACCOUNT)).toBe(9n * PRICE);
    const { rows } = await upgraded.pool.query("select status from issued_receipt order by id limit 1");
    expect(rows).toEqual([{ status: "refunded" }]);
    await expectCleanAudit(upgraded.pool);
  });

  it("finds a correction without an operator's action, dated before the upgrade", async () => {
    await inTransaction(upgraded.pool, async (client) => {
      await client.query(`
        insert into transfer (id, debit, credit, amount, kind, ref, created_at, seq, balance)
        select ledger_id(at), '${SYSTEM_ACCOUNTS.adjustments}', account.id, 5, 'adjustment', '', at,
          seq + 1, available + 5
        from account, (select timestamptz '2025-01-02' as at) earlier;
        update account set available = available + 5, seq = seq + 1`);
      const { findings } = await audited(client, { whole: true });
      const violated = findings.filter(({ violations }) => violations > 0n);
      expect(violated.map(({ name }) => name)).toEqual(["operator_acts"]);
    });
  });
});
