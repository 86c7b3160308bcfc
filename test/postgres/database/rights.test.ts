import { randomBytes } from "node:crypto";
import { afterAll, describe, expect, it } from "vitest";
import { readSqlSchema } from "../../../src/postgres/database/sql-files.ts";
import { openPool } from "../../../src/postgres/database/pool.ts";
import { PostgresRefunds, PostgresSuspense } from "../../../src/postgres/treasury/suspense.ts";
import { recordAct } from "../../support/operator-acts.ts";
import { closing } from "../../support/postgres.ts";
import {
  chargeOf,
  completed,
  depositOf,
  expectCleanAudit,
  newRunId,
  paymentOf,
  PRICE,
  openInstance,
  openLedger,
} from "../fixture.ts";
import { movementOf, watchedAccount } from "../treasury/treasury-fixture.ts";
import { SOLANA } from "../../../src/domain/payments/payment-id.ts";

/** The functions that a serving role may execute, from the file of its grants. */
const EXECUTED = (
  /grant execute on function([^;]*)\sto :role/
    .exec(readSqlSchema().repeatable.find(({ folder }) => folder === "grants")?.text ?? "")?.[1]
    ?.match(/\w+/g) ?? []
).toSorted();

/** Every ledger function with its security attributes. */
const FUNCTIONS = `
  select proname as name, prosecdef as definer, coalesce(array_to_string(proconfig, ';'), '') as config,
         has_function_privilege('public', oid, 'execute') as public
  from pg_proc where pronamespace = 'public'::regnamespace and prorettype <> 'trigger'::regtype
    order by proname`;

/** Functions that write nothing, and run with the rights of their caller. */
const READING = (
  "approval_of audit_bound audit_chain audit_parts audit_sums audit_wrong budget_refusal ledger_id " +
  "ledger_time payment_of payment_ref"
).split(" ");

const { database, one: owner } = await openLedger();
const role = `serving_${randomBytes(6).toString("hex")}`;
const password = randomBytes(12).toString("hex");
await owner.pool.query(
  `create role ${role} login password '${password}'; grant usage on schema public to ${role};
   grant select on all tables in schema public to ${role}`,
);
for (const name of EXECUTED) await owner.pool.query(`grant execute on function ${name} to ${role}`);
afterAll(() => owner.pool.query(`drop owned by ${role}; drop role ${role}`));
const url = new URL(database.url);
[url.username, url.password] = [role, password];
const serving = closing(openInstance(url.href));

describe("functions that write", () => {
  it("run as their owner with a fixed search path and no public grant", async () => {
    const { rows } = await owner.pool.query<{
      name: string;
      definer: boolean;
      config: string;
      public: boolean;
    }>(FUNCTIONS);
    expect(rows.filter(({ definer }) => definer).map(({ name }) => name)).toEqual(
      EXECUTED.filter((name) => !READING.includes(name)),
    );
    expect(rows.filter((row) => row.public)).toEqual([]);
    for (const { name, definer, config } of rows)
      if (definer) expect(config, name).toContain("search_path=public, pg_temp");
  });
});

describe("a role that may only read and execute", () => {
  it("serves calls and the treasury jobs", async () => {
    const account = await owner.account(5n * PRICE);
    const paid = await serving.start(account, {
      payment: paymentOf(depositOf({ slot: 2n })),
      idempotencyKey: "k",
    });
    await serving.leases.renew();
    const end = completed(paid);
    const receiptId = await chargeOf(serving.ledger, end);
    expect(await serving.ledger.authorize({ ...paid, runId: newRunId(), idempotencyKey: "l" })).toMatchObject(
      {
        kind: "replay",
      },
    );
    expect(await serving.sweeper.sweep()).toBe(0);
    expect(await serving.sweeper.retention.deleteExpired(["claims"])).toBe(0);
    const vanished = depositOf();
    expect(await serving.ledger.credit(account, vanished)).toMatchObject({ credited: true });

    expect(await serving.treasury.acquireLeadership(1_000)).toBe(true);
    const token = await watchedAccount(serving, 9n);
    const lost = movementOf();
    expect(await serving.treasury.record(token, lost)).toBe("suspended");
    expect(await serving.treasury.record(token, movementOf({ change: -1n }))).toBe("withdrawn");
    await serving.treasury.advanceWatch(token, 1n);
    await serving.treasury.postpone(SOLANA, [vanished.reference]);
    expect(await serving.treasury.reverse(vanished)).toMatchObject({ accountId: account });
    expect(await serving.treasury.finalize(SOLANA, [paid.payment!.reference])).toBe(1);
    const { txSignature } = lost;
    // This role writes through functions only.
    await recordAct(owner.pool, "suspense.assign", txSignature, account);
    const suspense = new PostgresSuspense(serving.pool);
    await suspense.assign({ txSignature, to: { accountId: account }, reason: "his" });
    await recordAct(owner.pool, "receipt.refund", receiptId);
    const refunds = new PostgresRefunds(serving.pool);
    expect(await refunds.refund({ receiptId, reason: "r" })).toMatchObject({ refunded: true });
    await serving.treasury.releaseLeadership();
    await expectCleanAudit(serving.pool);
  });

  it("cannot change any table directly", async () => {
    const { rows } = await owner.pool.query<{ name: string }>(
      `select relname as name from pg_class where relkind in ('r', 'p')
        and relnamespace = 'public'::regnamespace and relname <> 'migration'`,
    );
    expect(rows.length).toBeGreaterThan(10);
    for (const { name } of rows) {
      for (const change of [
        `delete from ${name}`,
        `insert into ${name} default values`,
        `truncate ${name}`,
      ]) {
        await expect(serving.pool.query(change), change).rejects.toMatchObject({ code: "42501" });
      }
    }
    for (const change of [
      "update account set available = 1",
      "update payment set reversed = false",
      "update transfer set amount = 1",
      "select ledger_release('{}')",
    ]) {
      await expect(serving.pool.query(change), change).rejects.toMatchObject({ code: "42501" });
    }
  });

  it("cannot redirect a function to its own tables of the same names", async () => {
    const account = await owner.account();
    const pool = openPool(serving.pool.options.connectionString ?? "", { max: 1, applicationName: "shadow" });
    try {
      await owner.pool.query(
        `grant temporary on database ${new URL(database.url).pathname.slice(1)} to ${role}`,
      );
      await pool.query("create temporary table account (like public.account)");
      await pool.query("create temporary table transfer (like public.transfer)");
      await pool.query("create temporary table payment (like public.payment)");
      await pool.query(
        "select ledger_credit($1, 'solana-mainnet', $2, 5, 'qt_x', null, 1, now(), false, 'transfer')",
        [account.slice(5), randomBytes(64)],
      );
      expect(await owner.balance(account)).toBe(5n);
    } finally {
      await pool.end();
    }
  });
});
