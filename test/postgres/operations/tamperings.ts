import { SYSTEM_ACCOUNTS } from "../../../src/postgres/database/system-accounts.ts";

const { treasury, revenue, suspense, adjustments, operator } = SYSTEM_ACCOUNTS;

/** What a superuser does to the rows, and which audit is the first to find it. */
export interface Tampering {
  readonly does: string;
  readonly sql: string;
  /** "log": the full audit with logs. "none": it equals what an operator or a gateway may do. */
  readonly found: "hourly" | "weekly" | "log" | "none";
  /** One of a dozen that `npm test` performs. */
  readonly short?: boolean;
}

/** Sealed rows are two hours old, the others new. */
const [OLD, NEW] = ["created_at < now() - interval '1 hour'", "created_at > now() - interval '1 hour'"];

/** The account's first receipt that the balance paid. */
const receipt = (age: string) =>
  `(select run_id from receipt where reference is null and ${age} order by id limit 1)`;

/**
 * The statements of tamperings with an account (a UUID) and another one, both with money. What adds money
 * numbers the change.
 */
export function tamperings(account: string, other: string): Tampering[] {
  /** Gives the account an amount, also in what is stored of sealed entries. */
  const give = (amount: number, age = NEW, from: string = revenue) =>
    `update account set available = available + ${amount} where id = '${account}';` +
    (age === NEW
      ? ""
      : `update audit_sum set amount = amount + ${amount} where holder = uuid_send('${account}'::uuid);
         update audit_sum set amount = amount - ${amount} where holder = uuid_send('${from}'::uuid);` +
        (from === revenue ? `update revenue_mark set amount = amount - ${amount};` : ""));
  const numbered = (...given: Parameters<typeof give>) =>
    `${give(...given)} update account set seq = seq + 1 where id = '${account}';`;
  const oldPayment = `(select reference from payment where settled and ${OLD} limit 1)`;
  const transferOf = (kind: string, age: string) =>
    `(select id from transfer where kind = '${kind}' and '${account}' in (debit, credit) and ${age}
      order by id limit 1)`;
  const forged = (kind: string, from: string, age: string) =>
    `insert into transfer (id, debit, credit, amount, kind, ref, created_at, seq, balance)
     select ledger_id(at), '${from}', id, 10000, '${kind}', REF, at, seq + 1, available + 10000
     from account, (select now() - interval '${age === NEW ? "0" : "2 hours"}' as at) entry
     where id = '${account}';
     ${numbered(10_000, age, from)}`;
  const paid = "payment_ref('solana-mainnet', sha512('forged'))";
  const refundOf = (age: string) => `uuid_send(${receipt(age)})`;
  const resealed = `
    delete from audit_part where number = 2;
    insert into audit_part select part.* from audit_seal seal join audit_seal earlier on earlier.number = 1,
      audit_parts(2, earlier.up_to, seal.up_to) part where seal.number = 2;
    update audit_seal set hash = audit_chain(earlier.hash, array(
      select part from audit_part part where number = 2)) from audit_seal earlier
    where audit_seal.number = 2 and earlier.number = 1`;
  const withoutCall = (age: string) => `
    delete from idempotency where run_id = ${receipt(age)};
    delete from run where id = ${receipt(age)};
    delete from receipt where run_id = ${receipt(age)}; ${give(10_000, age)}`;
  return [
    // Balances and calls.
    { does: "raise a balance", sql: give(1), found: "hourly", short: true },
    {
      does: "lower a sealed charge, with balance and sums",
      sql: `update receipt set debited = debited - 1 where run_id = ${receipt(OLD)}; ${give(1, OLD)}`,
      found: "hourly",
      short: true,
    },
    {
      does: "lower a new charge, with the balance",
      sql: `update receipt set debited = debited - 1 where run_id = ${receipt(NEW)}; ${give(1)}`,
      found: "hourly",
    },
    {
      does: "raise a new charge and its quote, with the balance",
      sql: `update receipt set debited = debited + 1, quoted = quoted + 1 where run_id = ${receipt(NEW)};
        ${give(-1)}`,
      found: "hourly",
    },
    {
      does: "delete a sealed receipt and fail its run, with balance and sums",
      sql: `update run set status = 'failed' where id = ${receipt(OLD)};
        delete from receipt where run_id = ${receipt(OLD)}; ${give(10_000, OLD)}`,
      found: "hourly",
    },
    {
      does: "delete a new receipt, with the balance",
      sql: `delete from receipt where run_id = ${receipt(NEW)}; ${give(10_000)}`,
      found: "hourly",
    },
    {
      does: "delete a sealed call from all tables, with balance and sums",
      sql: withoutCall(OLD),
      found: "hourly",
    },
    {
      does: "delete a new call from all tables, with the balance",
      sql: withoutCall(NEW),
      found: "hourly",
      short: true,
    },
    {
      does: "release a running call's hold",
      sql: `update idempotency set state = 'retryable' where state = 'running';
        update run set status = 'failed', ended_at = now(), return_seq = account.seq + 1,
          return_balance = available + price from account
        where account.id = account_id and status = 'active'; ${numbered(10_000)}`,
      found: "none",
    },
    {
      does: "fail a running call without its hold",
      sql: "update run set status = 'failed', ended_at = now() where status = 'active'",
      found: "hourly",
    },
    {
      does: "complete a running call without a receipt",
      sql: `update run set status = 'completed', ended_at = now() where status = 'active'; ${give(10_000)}`,
      found: "hourly",
    },
    {
      does: "charge a new call to another account, with both balances",
      sql: `update receipt set account_id = '${other}' where run_id = ${receipt(NEW)};
        ${give(10_000)} update account set available = available - 10000 where id = '${other}'`,
      found: "hourly",
    },
    {
      does: "charge a sealed call to another account, with balances and sums",
      sql: `update receipt set account_id = '${other}' where run_id = ${receipt(OLD)};
        ${give(10_000, OLD, other)} update account set available = available - 10000 where id = '${other}'`,
      found: "hourly",
    },
    {
      does: "change a sealed receipt's tool",
      sql: `update receipt set tool = 'echo' where run_id = ${receipt(OLD)}`,
      found: "hourly",
    },
    {
      does: "move a sealed receipt to another hour",
      sql: `update receipt set created_at = now(), id = ledger_id() where run_id = ${receipt(OLD)}`,
      found: "hourly",
    },
    {
      does: "give a new run to another account",
      sql: `update run set account_id = '${other}' where id = ${receipt(NEW)}`,
      found: "hourly",
    },
    {
      does: "give an old run to another account",
      sql: `update run set account_id = '${other}' where id = ${receipt(OLD)}`,
      found: "weekly",
    },
    {
      does: "add a receipt of a call that never ran, with the balance",
      sql: `insert into receipt (id, run_id, account_id, tool, quoted, debited, paid_by)
        values (ledger_id(), ledger_id(), '${account}', 'echo', 5, 5, 'balance'); ${give(-5)}`,
      found: "hourly",
    },
    // Transfers.
    {
      does: "add an adjustment, with the balance",
      sql: forged("adjustment", adjustments, NEW).replace("REF", "sha256('forged')"),
      found: "hourly",
      short: true,
    },
    {
      does: "add a sealed adjustment, with balance and sums",
      sql: forged("adjustment", adjustments, OLD).replace("REF", "sha256('forged')"),
      found: "hourly",
    },
    {
      does: "add an adjustment and its operator's action",
      sql: `insert into operator_action (id, actor, action, target, details, once)
          values (ledger_id(), 'cli:root', 'account.adjust',
            'acct_' || encode(uuid_send('${account}'::uuid), 'hex'), '{}', '10000 forged');
        ${forged("adjustment", adjustments, NEW).replace(
          "REF",
          `sha256(convert_to(encode(uuid_send('${account}'::uuid), 'hex') || ':forged', 'UTF8'))`,
        )}`,
      found: "none",
    },
    {
      does: "raise a new adjustment, with the balance",
      sql: `update transfer set amount = amount + 1 where id = ${transferOf("adjustment", NEW)}; ${give(1)}`,
      found: "hourly",
    },
    {
      does: "raise a sealed adjustment, with balance and sums",
      sql: `update transfer set amount = amount + 1 where id = ${transferOf("adjustment", OLD)};
        ${give(1, OLD, adjustments)}`,
      found: "hourly",
    },
    {
      does: "give a new adjustment to another account, with both balances",
      sql: `${give(-77)} update account set available = available + 77 where id = '${other}';
        update transfer set credit = '${other}' where id = ${transferOf("adjustment", NEW)}`,
      found: "hourly",
    },
    {
      does: "delete a new adjustment, with the balance",
      sql: `delete from transfer where id = ${transferOf("adjustment", NEW)}; ${give(-77)}`,
      found: "hourly",
    },
    {
      does: "add a refund, with the balance",
      sql: forged("refund", revenue, NEW).replace("REF", refundOf(NEW)),
      found: "hourly",
      short: true,
    },
    {
      does: "add a refund of a sealed call, with the balance",
      sql: forged("refund", revenue, NEW).replace("REF", refundOf(OLD)),
      found: "hourly",
    },
    {
      does: "delete a sealed refund, with balance and sums",
      sql: `delete from transfer where id = ${transferOf("refund", OLD)}; ${give(-10_000, OLD)}`,
      found: "hourly",
    },
    {
      does: "add a deposit without a payment, with the balance",
      sql: forged("deposit", treasury, NEW).replace("REF", "sha512('forged')"),
      found: "hourly",
    },
    {
      does: "credit a new deposit twice, with the balance",
      sql: forged("deposit", treasury, NEW).replace(
        "REF",
        `(select ref || '\\x00' from transfer where kind = 'deposit' limit 1)`,
      ),
      found: "hourly",
    },
    {
      does: "raise a sealed deposit and its payment, with balance and sums",
      sql: `update transfer set amount = amount + 1 where kind = 'deposit'
          and ref = payment_ref('solana-mainnet', ${oldPayment});
        update payment set amount = amount + 1 where reference = ${oldPayment};
        ${give(1, OLD, treasury)}`,
      found: "hourly",
    },
    {
      does: "add a payment that is final, with its deposit and balance",
      sql: `insert into payment (network, reference, account_id, quote_id, amount, paid_by, slot, block_time,
            settled, finalized)
          values ('solana-mainnet', sha512('forged'), '${account}', 'qt_forged', 10000, 'transfer', 1, now(),
            false, true);
        ${forged("deposit", treasury, NEW).replace("REF", paid)}`,
      found: "hourly",
    },
    {
      does: "add a payment that is not final yet, with its deposit and balance",
      sql: `insert into payment (network, reference, account_id, quote_id, amount, paid_by, slot, block_time,
            settled, finalized)
          values ('solana-mainnet', sha512('forged'), '${account}', 'qt_forged', 10000, 'transfer', 1, now(),
            false, false);
        ${forged("deposit", treasury, NEW).replace("REF", paid)}`,
      found: "none",
    },
    {
      does: "change a sealed transfer's note",
      sql: `update transfer set note = 'other' where id = ${transferOf("refund", OLD)}`,
      found: "hourly",
    },
    {
      does: "lower a sealed withdrawal and its movement, with sums",
      sql: `update transfer set amount = amount - 1 where kind = 'withdrawal';
        update treasury_movement set change = change + 1 where change < 0;
        update treasury_watch set expected = expected + 1;
        update audit_sum set amount = amount + 1 where kind = 'token_account';
        update audit_sum set amount = amount - 1 where holder = uuid_send('${treasury}'::uuid);
        update audit_sum set amount = amount + 1 where holder = uuid_send('${operator}'::uuid)`,
      found: "hourly",
    },
    {
      does: "delete a movement",
      sql: `delete from treasury_movement where change < 0`,
      found: "hourly",
    },
    {
      does: "raise the treasury's opening balance",
      sql: "update treasury_watch set opening_amount = opening_amount + 1, expected = expected + 1",
      found: "hourly",
    },
    // Payments.
    {
      does: "change a sealed payment's payer",
      sql: `update payment set payer = 'thief' where reference = ${oldPayment}`,
      found: "hourly",
      short: true,
    },
    {
      does: "change the memo of a payment in suspense",
      sql: "update payment set memos = 'mine' where quote_id is null",
      found: "hourly",
    },
    {
      does: "let a settled payment pay again",
      sql: `update payment set settled = false where reference = ${oldPayment}`,
      found: "weekly",
    },
    {
      does: "let a new settled payment pay again",
      sql: `update payment set settled = false
        where reference = (select reference from payment where settled and ${NEW} limit 1)`,
      found: "hourly",
      short: true,
    },
    {
      does: "change the quote of a sealed payment",
      sql: `update payment set quote_id = 'qt_other' where reference = ${oldPayment}`,
      found: "hourly",
    },
    {
      does: "give a sealed payment to another account",
      sql: `update payment set account_id = '${other}' where reference = ${oldPayment}`,
      found: "hourly",
    },
    {
      does: "assign a payment in suspense, with transfer and balance",
      sql: `update payment set assigned_to = '${account}' where quote_id is null and assigned_to is null;
        ${forged("assignment", suspense, NEW).replace(
          "REF",
          `(select payment_ref(network, reference) from payment
            where assigned_to = '${account}' and not exists (select from transfer
              where kind = 'assignment' and ref = payment_ref(network, reference)))`,
        )}`,
      found: "hourly",
    },
    {
      does: "delete a payment in suspense",
      sql: "delete from payment where quote_id is null and assigned_to is null",
      found: "hourly",
    },
    {
      does: "undo a reversal, with its transfer and the balance",
      sql: `update payment set reversed = false where reversed;
        delete from transfer where kind = 'reversal'; ${give(10_000, OLD, treasury)}`,
      found: "hourly",
    },
    {
      does: "finalize a payment that the chain has not",
      sql: "update payment set finalized = true, slot = 1 where not finalized and not reversed",
      found: "hourly",
    },
    // Accounts, keys and answers.
    {
      does: "give an account to another wallet",
      sql: `update account set wallet = 'thief' where id = '${account}'`,
      found: "hourly",
      short: true,
    },
    {
      does: "change a stored answer",
      sql: `update idempotency set result = '{"answer":"other"}'
        where run_id = (select run_id from receipt where reference is null and ${OLD} and exists (
          select from idempotency claim where claim.run_id = receipt.run_id) limit 1)`,
      found: "hourly",
      short: true,
    },
    {
      does: "change the stored answer of a payment",
      sql: `update idempotency set result = '{"answer":"other"}' where expires_at = 'infinity'
        and run_id in (select run_id from receipt where ${OLD})`,
      found: "hourly",
    },
    {
      does: "delete the claim of a payment",
      sql: "delete from idempotency where expires_at = 'infinity'",
      found: "hourly",
    },
    {
      does: "lower what counts against a limit",
      sql: "update budget set month_spent = month_spent - 1",
      found: "weekly",
    },
    {
      does: "raise a limit",
      sql: "update budget set day_limit = day_limit + 1",
      found: "none",
    },
    {
      does: "give a used key to another account",
      sql: `update api_key set account_id = '${other}' where account_id = '${account}'`,
      found: "weekly",
    },
    // What operators did, and what audits stored.
    {
      does: "change a sealed operator's action",
      sql: `update operator_action set details = '{}', actor = 'other' where at < now() - interval '1 hour'`,
      found: "hourly",
    },
    {
      does: "delete a new operator's action without a transfer",
      sql: "delete from operator_action where action = 'account.block'",
      found: "log",
    },
    {
      does: "change a sealed configuration",
      sql: "update config_version set document = 'tools: []', checksum = sha256('tools: []')",
      found: "hourly",
    },
    {
      does: "change a sealed row and make its seal and sums again",
      sql: `update receipt set tool = 'echo' where run_id = ${receipt(OLD)}; ${resealed}`,
      found: "log",
      short: true,
    },
    {
      does: "delete the last seal",
      sql: "delete from audit_seal where number = 2; delete from audit_part where number = 2",
      found: "hourly",
    },
    {
      does: "change a seal's part",
      sql: "update audit_part set hash = sha256('') where number = 2 and name = 'transfers'",
      found: "hourly",
    },
    {
      does: "raise a balance and its stored sum",
      sql: `${give(1)} update audit_sum set amount = amount + 1
        where holder = uuid_send('${account}'::uuid)`,
      found: "hourly",
    },
    {
      does: "raise the stored revenue",
      sql: "update revenue_mark set amount = amount + 1",
      found: "hourly",
    },
    {
      does: "disable a table's append-only trigger",
      sql: "alter table transfer disable trigger append_only",
      found: "hourly",
      short: true,
    },
    {
      does: "let append-only triggers refuse nothing",
      sql: `create or replace function refuse_change() returns trigger language plpgsql as
        'begin return null; end'`,
      found: "hourly",
    },
  ];
}
