import { randomBytes, randomUUID } from "node:crypto";
import { base58 } from "@scure/base";
import { beforeAll, describe, expect, it } from "vitest";
import type { Pool } from "pg";
import {
  auditSince,
  sealingAudit,
  sinceSealText,
  wholeText,
} from "../../../src/postgres/operations/audit.ts";
import { lastSeal } from "../../../src/postgres/operations/seals.ts";
import { CHECKS } from "../../../src/postgres/operations/audit-checks.ts";
import { uuidOf } from "../../../src/domain/core/ids.ts";
import { PostgresDeposits } from "../../../src/postgres/deposits/deposits.ts";
import { PostgresRelays } from "../../../src/postgres/payments/relays.ts";
import {
  callOf,
  chargeOf,
  completed,
  depositOf,
  paymentOf,
  PRICE,
  inTransaction,
  type Instance,
  idOf,
  openLedger,
} from "../fixture.ts";
import { movementOf, watchedAccount } from "../treasury/treasury-fixture.ts";

/** For each check, a violation that only a superuser can create. */
const PLANTS: Record<string, string | string[]> = {
  balances:
    "update account set available = available + 1, seq = seq + 1 where id = (select id from account limit 1)",
  balance_steps: "update run set balance = balance + 1 where seq is not null",
  entries: [
    `insert into transfer (debit, credit, amount, kind, ref)
    select id, id, 5, 'refund', '\\x01' from account limit 1`,
    `insert into transfer (debit, credit, amount, kind, ref)
    select id, '${randomUUID()}', 5, 'refund', '\\x02' from account limit 1`,
  ],
  transfers_once: `insert into transfer (debit, credit, amount, kind, ref)
    select debit, credit, amount, kind, ref from transfer limit 1`,
  payments_credited: [
    "delete from transfer where kind = 'deposit' " +
      "and ref = (select payment_ref(network, reference) from payment limit 1)",
    "delete from payment where reference = (select reference from payment limit 1)",
    "insert into payment select * from payment limit 1",
  ],
  quotes_once: `insert into payment (network, reference, account_id, quote_id, amount, settled, fingerprint,
      claim_key, payer,
      slot, block_time, finalized, paid_by)
    select network, '\\x${randomBytes(64).toString("hex")}'::bytea, account_id, quote_id, amount, settled,
      fingerprint, claim_key,
      payer, slot, block_time, finalized, paid_by from payment where settled limit 1`,
  payments_claimed:
    "delete from idempotency where key = (select claim_key from payment where settled limit 1)",
  payments_charged_once: `insert into receipt (id, run_id, account_id, tool, quote_id, step_id,
      network, reference, quoted,
      debited, paid_by)
    select ledger_id(), '${randomUUID()}', account_id, tool, quote_id, step_id,
      network, reference, quoted,
    debited, paid_by from receipt where reference is not null limit 1`,
  runs_receipted: [
    "update run set status = 'completed' where status = 'failed'",
    "update receipt set quoted = quoted + 1, debited = debited + 1",
  ],
  keys: [
    "update run set status = 'failed' where status = 'completed'",
    "update run set status = 'failed' where status = 'active'",
  ],
  revenue: "update transfer set ref = '\\x03' where kind = 'refund'",
  revenue_counted: "update revenue_mark set amount = amount + 1",
  treasury: "update transfer set amount = amount + 1 where kind = 'deposit'",
  watches: [
    "update treasury_watch set expected = expected + 1",
    "update treasury_watch set opening_amount = opening_amount + 1, expected = expected + 1",
  ],
  movements_credited: [
    `insert into treasury_movement
      select token_account, '\\x${randomBytes(64).toString("hex")}', slot,
    block_time, 5 from treasury_movement limit 1`,
    `delete from treasury_movement where tx_signature = (select reference from payment
      where finalized and slot < 2 limit 1)`,
  ],
  deposits_owned: "delete from deposit",
  movements_withdrawn: "delete from treasury_movement where change < 0",
  suspense: "update payment set amount = amount + 1 where quote_id is null and assigned_to is null",
  assignments: "update payment set assigned_to = account_id where assigned_to is not null",
  reversals: [
    "update payment set reversed = false where reversed",
    "update payment set finalized = true where reversed",
  ],
  refunds: [
    "update transfer set amount = amount + 1 where kind = 'refund'",
    "delete from operator_action where action = 'receipt.refund'",
  ],
  operator_acts: [
    "delete from operator_action where action = 'account.adjust'",
    "delete from operator_action where action = 'suspense.assign'",
  ],
  relays_once: `insert into relay select sha256('\\x01'), quote_id, account_id, key_id, sha512('\\x01'),
      signed_transaction, 0,
    last_valid_block_height, state, reason, claimed_at, moved_at from relay`,
  relays_paid: "update payment set paid_by = 'transfer' where paid_by = 'gasless'",
  relay_budget: "update relay_budget set lamports = lamports - 1",
  key_budgets: "update budget set month_spent = month_spent + 1",
  runs_keyed: "update run set group_id = key_id where paid_by <> 'balance'",
  seals: "update audit_seal set hash = sha256('')",
  sealed_sums: "update audit_sum set amount = amount + 1",
  archived_uses: "update archive_use set charged = charged + 1",
  clearings: "update account_move set amount = amount + 1",
  moved_idle:
    "update account set frozen = true, moved_to = 3 where id in (select account_id from run " +
    "where status = 'active')",
  append_only: "alter table receipt disable trigger append_only",
};

/** An archived month of account $1 whose call was not charged. */
const ARCHIVED = `
  with month as (
    insert into archive_month (month, low, high, runs, receipts, charged, manifest)
    select '2001-01-01', id, id, 1, 0, 0, sha256('') from partition_bound('2001-01-01') id returning month
  )
  insert into archive_use (month, account_id, runs, receipts, charged) select month, $1, 1, 0, 0 from month`;

const { database, one } = await openLedger();

beforeAll(async () => {
  const account = await one.account(10n * PRICE);
  const gone = uuidOf("acct", await one.account(PRICE));
  await one.pool.query("select account_freeze($1, true)", [gone]);
  await one.pool.query("select account_depart($1, $2, 3)", [gone, randomUUID()]);
  await one.pool.query(ARCHIVED, [gone]);
  await sealAll(one.pool);
  const calls = [
    callOf(account, { ...(await one.key(account)), payment: paymentOf(depositOf()) }),
    callOf(account, { payment: paymentOf(depositOf()), idempotencyKey: "paid" }),
    callOf(account, { idempotencyKey: "key" }),
    callOf(account),
  ];
  calls.push(callOf(account, await one.key(account, { perDay: PRICE })));
  const receiptIds: string[] = [];
  for (const call of calls) {
    await one.ledger.authorize(call);
    receiptIds.push(await chargeOf(one.ledger, completed(call)));
  }
  await one.fail(account, { idempotencyKey: "lost" });
  await one.authorize(account, { idempotencyKey: "running" });
  const vanished = depositOf();
  for (const deposit of [vanished, depositOf()]) await one.ledger.credit(account, deposit);
  await one.treasury.reverse(vanished);
  const token = await watchedAccount(one, 3n);
  const nobodys = [movementOf(), movementOf(), movementOf({ change: -5n })];
  for (const movement of nobodys) await one.treasury.record(token, movement);
  const quoteId = await begunDeposit(one, account);
  await one.treasury.record(token, movementOf({ attribution: { accountId: account, quoteId } }));
  // The watch is in a partly reported slot: a payment of it has no movement yet.
  await one.treasury.advanceWatch(token, 2n);
  await one.ledger.credit(account, depositOf({ slot: 2n, finalized: true }));
  await payRelayed(one, account);
  await one.suspense.assign({
    txSignature: nobodys[0]!.txSignature,
    to: { accountId: account },
    reason: "his",
  });
  await one.refunds.refund({ receiptId: receiptIds[0]!, reason: "wrong" });
  // Its balance is an adjustment.
  await one.account(PRICE);
});

/** Dates all entries back, so that a seal covers them. */
async function sealAll(pool: Pool): Promise<void> {
  await pool.query(`
    alter table transfer disable trigger append_only;
    update transfer set id = ledger_id(now() - interval '2 hours'), created_at = now() - interval '2 hours';
    alter table transfer enable trigger append_only`);
  await sealingAudit(database.url, database)();
}

/** A pending deposit. */
async function begunDeposit({ pool }: Instance, accountId: string): Promise<string> {
  const [depositId, createdAt] = [idOf("dep"), new Date()];
  const deposit = {
    depositId,
    accountId,
    amount: PRICE,
    reference: base58.encode(randomBytes(32)),
    createdAt,
  };
  await new PostgresDeposits(pool).create(deposit, { waiting: 1, since: createdAt });
  return depositId;
}

/** A relayed payment. */
async function payRelayed({ pool, ledger }: Instance, accountId: string): Promise<void> {
  const relayed = depositOf({ slot: 2n });
  const claim = {
    messageHash: randomBytes(32),
    quoteId: relayed.quoteId,
    accountId,
    keyId: idOf("key"),
    txSignature: relayed.reference,
    signedTransaction: randomBytes(100),
    feeLamports: 10_000n,
    lastValidBlockHeight: 1n,
  };
  await new PostgresRelays(pool).claim(claim, {
    dailyLamports: 10_000n,
    perAccountHourly: 1,
    failuresHourly: 1,
  });
  await ledger.credit(accountId, relayed);
}

describe.each([{ whole: true }, { whole: false }])("ledger audit %o", (scope) => {
  it("finds no violation in a ledger written by the ledger functions, and examines rows in every check", async () => {
    const { findings } = await auditSince(one.pool, scope);
    const names = CHECKS.filter(({ wholeOnly }) => scope.whole || !wholeOnly).map(({ name }) => name);
    expect(findings.map(({ name }) => name)).toEqual(names);
    for (const line of findings) {
      expect(line, line.name).toMatchObject({ violations: 0n });
      expect(line.checked, line.name).toBeGreaterThan(0n);
    }
  });
});

describe("audit checks", () => {
  it("has a planted violation for every check", () => {
    expect(Object.keys(PLANTS).toSorted()).toEqual(CHECKS.map(({ name }) => name).toSorted());
  });
});

describe("append-only tables", () => {
  it("reports an append-only table whose trigger is missing, changed or disabled", async () => {
    const { sql = "" } = CHECKS.find(({ name }) => name === "append_only") ?? {};
    for (const change of [
      "alter table receipt disable trigger append_only",
      "alter table receipt_default disable trigger append_only",
      "drop trigger append_only on treasury_movement",
      "drop trigger append_only on operator_action",
      "drop trigger append_only on config_version",
      "drop trigger append_only on audit_seal",
      "drop trigger append_only on audit_part",
      `drop trigger append_only on transfer; create trigger append_only before delete
        on transfer for each statement execute function refuse_change()`,
    ]) {
      await inTransaction(one.pool, async (client) => {
        await client.query(change);
        const { rows } = await client.query<{ wrong: boolean }>(sql);
        expect(
          rows.filter(({ wrong }) => wrong),
          change,
        ).toHaveLength(1);
      });
    }
  });
});

it("reports a trigger of append-only tables that refuses nothing", async () => {
  const { sql = "" } = CHECKS.find(({ name }) => name === "append_only") ?? {};
  await inTransaction(one.pool, async (client) => {
    await client.query(`create or replace function refuse_change() returns trigger language plpgsql as
      'begin return null; end'`);
    const { rows } = await client.query<{ wrong: boolean }>(sql);
    expect(new Set(rows.map(({ wrong }) => wrong))).toEqual(new Set([true]));
  });
});

/** A charged call that the balance paid, between others. */
const PICK = `create temporary table picked on commit drop as select run.* from run
  join receipt on receipt.run_id = run.id where run.paid_by = 'balance'
  order by run.seq desc offset 1 limit 1;`;

it.each([
  [
    "call that was deleted from all tables, with what it cost returned",
    `${PICK} delete from receipt where run_id = (select id from picked);
     delete from run where id = (select id from picked);
     delete from idempotency where run_id = (select id from picked);
     update account set available = available + price, seq = account.seq - 1 from picked
     where account.id = picked.account_id`,
  ],
  [
    "charge that was turned into a failure",
    `${PICK} delete from receipt where run_id = (select id from picked);
     update run set status = 'failed', error_code = 'INTERNAL' where id = (select id from picked);
     update account set available = available + price, seq = account.seq + 1 from picked
     where account.id = picked.account_id`,
  ],
  [
    "forged adjustment",
    `insert into transfer (debit, credit, amount, kind, ref)
     select '00000000-0000-0000-0000-000000000004', id, 5, 'adjustment', '\\x05'
     from account order by seq desc limit 1;
     update account set available = available + 5, seq = seq + 1 where id = (
       select credit from transfer where ref = '\\x05')`,
  ],
])("an audit of what is not sealed finds a %s", async (_, sql) => {
  await inTransaction(one.pool, async (client) => {
    await client.query(UNGUARD);
    await client.query(sql);
    const seal = await lastSeal(client);
    const text = sinceSealText(CHECKS.filter(({ name }) => name === "balance_steps"));
    const { rows } = await client.query<{ violations: bigint }>(text, [seal?.upTo, seal?.firstRun]);
    expect(rows[0]?.violations).toBeGreaterThan(0n);
  });
});

describe.each([{ whole: true }, { whole: false }])("the audit %o finds a planted violation of", (scope) => {
  const checks = CHECKS.filter(({ wholeOnly }) => scope.whole || !wholeOnly);
  const plants = checks.flatMap((check) =>
    [PLANTS[check.name] ?? []].flat().map((plant, at) => [`${check.name} ${at + 1}`, check, plant] as const),
  );
  for (const [title, check, plant] of plants) {
    it(title, async () => {
      await inTransaction(one.pool, async (client) => {
        // Constraints are dropped, so that the check is tested alone.
        await client.query(UNGUARD);
        await client.query(plant);
        const seal = await lastSeal(client);
        const [text, values] = scope.whole
          ? [wholeText(check), [1, null]]
          : [sinceSealText([check]), [seal?.upTo, seal?.firstRun]];
        const { rows } = await client.query<{ violations: bigint }>(text, values);
        expect(rows[0]?.violations).toBeGreaterThan(0n);
      });
    });
  }
});

const UNGUARD = `
  drop index relay_quote_unique;
  alter table transfer disable trigger all;
  alter table receipt disable trigger all;
  alter table treasury_movement disable trigger all;
  alter table operator_action disable trigger all;
  alter table audit_seal disable trigger all;
  alter table audit_part disable trigger all;
  alter table transfer drop constraint transfer_sides_check, drop constraint transfer_kind_ref_unique;
  alter table receipt drop constraint receipt_pkey;
  alter table payment drop constraint payment_pkey, drop constraint payment_reversed_check;
  drop index payment_settled_quote_unique;`;
