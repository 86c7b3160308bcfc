import { isArchived, sumOf, type AuditCheck } from "../database/audit-check.ts";
import { SOLANA } from "../../domain/payments/payment-id.ts";
import { SYSTEM_ACCOUNTS } from "../database/system-accounts.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import { openPool } from "../database/pool.ts";

const { treasury, revenue, suspense, adjustments, operator } = SYSTEM_ACCOUNTS;

/** Audit checks of the treasury: chain movements, their bookings and corrections. */
export const TREASURY_CHECKS: readonly AuditCheck[] = [
  {
    name: "watches",
    description:
      "what each watched token account must hold is its opening balance, booked to the operator, and every " +
      "movement since",
    sql: /* sql */ `
      select watch.token_account is null
        or watch.expected <> watch.opening_amount + coalesce(moved.change, 0)
        or watch.opening_amount <> coalesce(opening.amount, 0)
        or coalesce(opening.debit <> '${treasury}' or opening.credit <> '${operator}', false) as wrong
      from treasury_watch watch full join (
        select holder as token_account, sum(amount) as change from total where kind = 'token_account'
        group by holder
      ) moved on moved.token_account = watch.token_account
      full join (select * from transfer where kind = 'opening') opening
        on opening.ref = watch.token_account`,
  },
  {
    name: "movements_credited",
    description:
      "each movement into the treasury has its payment, the same amount and finalized, and each finalized " +
      "payment in slots before the watch position its movement",
    sql: /* sql */ `
      select payment.reference is null or moved.tx_signature is null and exists (
        select from treasury_watch watch
        where watch.opening_slot < payment.slot and payment.slot < watch.slot) as wrong
      from (select * from treasury_movement where change > 0) moved
      full join (select * from payment where network = '${SOLANA}' and finalized) payment
        on payment.reference = moved.tx_signature and payment.amount = moved.change`,
  },
  {
    name: "deposits_owned",
    description:
      "each payment that names a deposit is finalized, pays no call, and belongs to the account that " +
      "created it",
    sql: /* sql */ `
      select deposit.account_id is distinct from payment.account_id or not payment.finalized
        or payment.settled as wrong
      from (select * from payment where starts_with(quote_id, 'dep_')) payment
      left join deposit on 'dep_' || replace(deposit.id::text, '-', '') = payment.quote_id`,
  },
  {
    name: "movements_withdrawn",
    description: "each movement out of the treasury was booked against the operator, and nothing else was",
    sql: /* sql */ `
      select coalesce(moved.change, 0) <> coalesce(-withdrawal.amount, 0)
          or withdrawal.debit <> '${operator}' or withdrawal.credit <> '${treasury}' as wrong
      from (select * from treasury_movement where change < 0) moved
      full join (select * from transfer where kind = 'withdrawal') withdrawal
        on withdrawal.ref = moved.token_account || moved.tx_signature`,
  },
  {
    name: "suspense",
    description: "the suspense balance equals its payments without an owner",
    sql: /* sql */ `
      select ${sumOf(suspense)}
        is distinct from (
          select coalesce(sum(amount), 0) from payment where account_id = '${suspense}'
            and assigned_to is null and not reversed
        ) as wrong`,
  },
  {
    name: "assignments",
    description: "each assigned transfer left suspense once: its amount, to its owner",
    sql: /* sql */ `
      select given.reference is null or assignment.id is null
          or given.account_id <> '${suspense}' or assignment.debit <> '${suspense}'
          or assignment.credit <> given.assigned_to or assignment.amount <> given.amount as wrong
      from (select * from payment where assigned_to is not null) given
      full join (select * from transfer where kind = 'assignment') assignment
        on assignment.ref = payment_ref(given.network, given.reference)`,
  },
  {
    name: "reversals",
    description:
      "each reversed payment that was not reinstated is marked as reversed and is not finalized, and no " +
      "other payment is marked",
    sql: /* sql */ `
      select payment.reference is null
          or count(*) filter (where back.kind = 'reversal') - count(*)
            filter (where back.kind = 'reinstatement') <> payment.reversed::integer
          or count(distinct back.holder) > 1 or bool_or(payment.reversed and payment.finalized)
          or not bool_and(back.amount = payment.amount and back.other = '${treasury}'
               and (back.holder = payment.account_id or back.holder is not distinct
                 from payment.assigned_to)) as wrong
      from (
        select kind, ref, amount, case kind when 'reversal' then debit else credit end as holder, case kind
          when 'reversal' then credit else debit end as other
        from transfer where kind in ('reversal', 'reinstatement')
      ) back full join payment on payment_ref(payment.network, payment.reference) = back.ref
      where back.ref is not null or payment.reversed
      group by back.ref, payment.network, payment.reference, payment.reversed`,
  },
  {
    name: "refunds",
    description: "each refund is an operator's action: what a receipt debited, from revenue, to its account",
    sql: /* sql */ `
      select receipt.id is null or act.target is null as wrong
      from transfer left join receipt
        on uuid_send(receipt.run_id) = transfer.ref and receipt.debited = transfer.amount
          and receipt.account_id = transfer.credit
          and transfer.debit = '${revenue}'
      left join (select distinct target from operator_action where action = 'receipt.refund') act
        on act.target = 'rcpt_' || encode(uuid_send(receipt.id), 'hex')
      where transfer.kind = 'refund' and not ${isArchived("transfer.ref")}`,
  },
  {
    name: "operator_acts",
    description: "each adjustment and assignment is what an operator's action says",
    sql: /* sql */ `
      -- "once" has the amount and the key, as they are hashed but for API keys in the wrong field.
      select not bool_or(coalesce(
        act.key like '%sk-agent-***%'
          or sha256(convert_to(substr(act.target, 6) || ':' || act.key, 'UTF8')) = given.ref, false)) as wrong
      from (
        select id, ref, case debit when '${adjustments}' then credit else debit end as account_id,
          case debit when '${adjustments}' then amount else -amount end as change
        from new_transfer where kind = 'adjustment'
      ) given
      left join (
        select target, split_part(once, ' ', 1) as change, substr(once, strpos(once, ' ') + 1) as key
        from operator_action where action = 'account.adjust'
      ) act on act.target = 'acct_' || encode(uuid_send(given.account_id), 'hex')
        and act.change = given.change::text
      group by given.id
      union all
      select given.assignments > coalesce(act.transfers, 0)
      from (
        select case credit when '${operator}' then 'operator'
          else 'acct_' || encode(uuid_send(credit), 'hex') end as owner, count(*) as assignments
        from new_transfer where kind = 'assignment' group by credit
      ) given
      left join (
        select once as owner, count(distinct target) as transfers from operator_action
        where action = 'suspense.assign' group by once
      ) act on act.owner = given.owner`,
  },
  {
    name: "append_only",
    description:
      "transfers, receipts, movements, operators' actions, configurations and seals cannot be changed: " +
      "their triggers are in place, enabled, and refuse",
    // BEFORE UPDATE OR DELETE OR TRUNCATE, for each statement (pg_trigger.h: 2 + 16 + 8 + 32).
    sql: /* sql */ `
      select (guard.tgenabled in ('O', 'A') and guard.tgtype = 58
        and guard.tgfoid = to_regproc('public.refuse_change')
        and btrim(regexp_replace(body.prosrc, '\\s+', ' ', 'g')) = 'begin raise exception '
          || '''% is append-only'', tg_table_name using errcode = ''restrict_violation''; end'
        ) is not true as wrong
      from (
        select to_regclass('public.' || name) as id
        from unnest(array['transfer', 'treasury_movement', 'operator_action', 'config_version',
          'audit_seal', 'audit_part']) name
        union all
        select relid from pg_partition_tree('public.receipt')
      ) guarded
      left join pg_trigger guard on guard.tgrelid = guarded.id and guard.tgname = 'append_only'
      left join pg_proc body on body.oid = guard.tgfoid`,
  },
];

/**
 * Returns the balance that the treasury must have on Solana by the ledger, micro-USD: received, not withdrawn
 * and not reversed. Payments on other networks are held elsewhere.
 */
export async function expectedTreasuryBalance(databaseUrl: string): Promise<MicroUsd> {
  const pool = openPool(databaseUrl, { max: 1, applicationName: "toolgate audit" });
  try {
    const { rows } = await pool.query<{ debt: string }>(
      `select (coalesce(sum(case when debit = $1 then amount else -amount end), 0)
         - (select coalesce(sum(amount), 0) from payment where network <> $2 and not reversed))::text as debt
       from transfer where $1 in (credit, debit)`,
      [SYSTEM_ACCOUNTS.treasury, SOLANA],
    );
    return BigInt(rows[0]?.debt ?? "0");
  } finally {
    await pool.end();
  }
}
