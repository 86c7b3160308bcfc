import { isArchived, sumOf, type AuditCheck } from "../database/audit-check.ts";
import { SOLANA } from "../../domain/payments/payment-id.ts";
import { SYSTEM_ACCOUNTS } from "../database/system-accounts.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import { openPool } from "../database/pool.ts";

const { treasury, revenue, suspense, operator } = SYSTEM_ACCOUNTS;

/** Audit checks of the treasury: chain movements, their bookings and corrections. */
export const TREASURY_CHECKS: readonly AuditCheck[] = [
  {
    name: "watches",
    description: "what each watched token account must hold is its opening and every movement since",
    sql: /* sql */ `
      select watch.token_account is null or watch.expected <> watch.opening_amount + coalesce(moved.change,
        0) as wrong
      from treasury_watch watch full join (
        select holder as token_account, sum(amount) as change from total where kind = 'token_account'
        group by holder
      ) moved on moved.token_account = watch.token_account`,
  },
  {
    name: "openings",
    description: "the opening balance of each watched token account was booked to the operator",
    sql: /* sql */ `
      select coalesce(watch.opening_amount, 0) <> coalesce(opening.amount, 0)
          or coalesce(opening.debit <> '${treasury}' or opening.credit <> '${operator}', false) as wrong
      from treasury_watch watch full join (select * from transfer where kind = 'opening') opening
        on opening.ref = watch.token_account`,
  },
  {
    name: "movements_credited",
    description: "each movement into the treasury has its payment: the same amount, finalized",
    sql: /* sql */ `
      select payment.reference is null as wrong
      from treasury_movement moved left join payment
        on payment.network = '${SOLANA}' and payment.reference = moved.tx_signature
          and payment.amount = moved.change and payment.finalized
      where moved.change > 0`,
  },
  {
    name: "payments_moved",
    description: "each finalized payment in slots before the watch position has its movement",
    sql: /* sql */ `
      select moved.tx_signature is null as wrong
      from payment left join treasury_movement moved on moved.tx_signature = payment.reference
        and moved.change = payment.amount
      where payment.network = '${SOLANA}' and payment.finalized
        and exists (select from treasury_watch watch where watch.opening_slot < payment.slot
          and payment.slot < watch.slot)`,
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
      "each reversed payment that was not reinstated is marked as reversed, and no other payment is",
    sql: /* sql */ `
      select payment.reference is null
          or count(*) filter (where back.kind = 'reversal') - count(*)
            filter (where back.kind = 'reinstatement') <> payment.reversed::integer
          or count(distinct back.holder) > 1
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
    name: "reversed_open",
    description: "no reversed payment is finalized",
    sql: /* sql */ `select finalized as wrong from payment where reversed`,
  },
  {
    name: "refunds",
    description: "each refund returns what a receipt debited, from revenue, to its account",
    sql: /* sql */ `
      select receipt.id is null as wrong
      from transfer left join receipt
        on uuid_send(receipt.run_id) = transfer.ref and receipt.debited = transfer.amount
          and receipt.account_id = transfer.credit
          and transfer.debit = '${revenue}'
      where transfer.kind = 'refund' and not ${isArchived("transfer.ref")}`,
  },
  {
    name: "append_only",
    description:
      "transfers, receipts, movements, operators' actions and seals cannot be changed: their triggers are " +
      "in place and enabled",
    // BEFORE UPDATE OR DELETE OR TRUNCATE, for each statement (pg_trigger.h: 2 + 16 + 8 + 32).
    sql: /* sql */ `
      select (guard.tgenabled in ('O', 'A') and guard.tgtype = 58
        and guard.tgfoid = to_regproc('public.refuse_change')) is not true as wrong
      from (
        select to_regclass('public.' || name) as id
        from unnest(array['transfer', 'treasury_movement', 'operator_action']) name
        union all
        select relid from pg_partition_tree('public.receipt')
      ) guarded
      left join pg_trigger guard on guard.tgrelid = guarded.id and guard.tgname = 'append_only'`,
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
