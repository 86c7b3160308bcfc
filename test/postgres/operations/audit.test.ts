import { randomBytes, randomUUID } from "node:crypto";
import { base58 } from "@scure/base";
import { beforeAll, describe, expect, it } from "vitest";
import type { Pool } from "pg";
import {
  auditAndSeal,
  auditSince,
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
const PLANTS: Record<string, string> = {
  balances: "update account set available = available + 1 where id = (select id from account limit 1)",
  entry_amounts: `insert into transfer (debit, credit, amount, kind, ref)
    select id, id, 5, 'refund', '\\x01' from account limit 1`,
  entry_accounts: `insert into transfer (debit, credit, amount, kind, ref)
    select id, '${randomUUID()}', 5, 'refund', '\\x02' from account limit 1`,
  transfers_once: `insert into transfer (debit, credit, amount, kind, ref)
    select debit, credit, amount, kind, ref from transfer limit 1`,
  payments_credited:
    "delete from transfer where kind = 'deposit' " +
    "and ref = (select payment_ref(network, reference) from payment limit 1)",
  deposits_paid: "delete from payment where reference = (select reference from payment limit 1)",
  references_once: "insert into payment select * from payment limit 1",
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
  charges_held: "update receipt set quoted = quoted + 1, debited = debited + 1",
  runs_receipted: "update run set status = 'completed' where status = 'failed'",
  keys_done: "update run set status = 'failed' where status = 'completed'",
  keys_running: "update run set status = 'failed' where status = 'active'",
  revenue: "update transfer set ref = '\\x03' where kind = 'refund'",
  revenue_counted: "update revenue_mark set amount = amount + 1",
  treasury: "update transfer set amount = amount + 1 where kind = 'deposit'",
  watches: "update treasury_watch set expected = expected + 1",
  openings: "update treasury_watch set opening_amount = opening_amount + 1, expected = expected + 1",
  movements_credited: `insert into treasury_movement
      select token_account, '\\x${randomBytes(64).toString("hex")}', slot,
    block_time, 5 from treasury_movement limit 1`,
  payments_moved: `delete from treasury_movement where tx_signature = (select reference from payment
      where finalized and slot < 2 limit 1)`,
  deposits_owned: "delete from deposit",
  movements_withdrawn: "delete from treasury_movement where change < 0",
  suspense: "update payment set amount = amount + 1 where quote_id is null and assigned_to is null",
  assignments: "update payment set assigned_to = account_id where assigned_to is not null",
  reversals: "update payment set reversed = false where reversed",
  reversed_open: "update payment set finalized = true where reversed",
  refunds: "update transfer set amount = amount + 1 where kind = 'refund'",
  relays_once: `insert into relay select sha256('\\x01'), quote_id, account_id, key_id, sha512('\\x01'),
      signed_transaction, 0,
    last_valid_block_height, state, reason, claimed_at, moved_at from relay`,
  relays_paid: "update payment set paid_by = 'transfer' where paid_by = 'gasless'",
  relay_budget: "update relay_budget set lamports = lamports - 1",
  key_budgets: "update budget set month_spent = month_spent + 1",
  runs_keyed: "update run set group_id = key_id where paid_by <> 'balance'",
  seals: "update audit_seal set entries = entries + 1",
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
});

/** Dates all entries back, so that a seal covers them. */
async function sealAll(pool: Pool): Promise<void> {
  await pool.query(`
    alter table transfer disable trigger append_only;
    update transfer set id = ledger_id(now() - interval '2 hours'), created_at = now() - interval '2 hours';
    alter table transfer enable trigger append_only`);
  await auditAndSeal({ url: database.url, readUrl: database.url }, {});
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

describe.each([{ whole: true }, { whole: false }])("the audit %o finds a planted violation of", (scope) => {
  for (const check of CHECKS.filter(({ wholeOnly }) => scope.whole || !wholeOnly)) {
    it(check.name, async () => {
      await inTransaction(one.pool, async (client) => {
        // Constraints are dropped, so that the check is tested alone.
        await client.query(UNGUARD);
        await client.query(PLANTS[check.name] ?? "");
        const seal = await lastSeal(client);
        const [text, values] = scope.whole
          ? [wholeText(check), []]
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
  alter table audit_seal disable trigger all;
  alter table transfer drop constraint transfer_sides_check, drop constraint transfer_kind_ref_unique;
  alter table receipt drop constraint receipt_pkey;
  alter table payment drop constraint payment_pkey, drop constraint payment_reversed_check;
  drop index payment_settled_quote_unique;`;
