import { type AuditCheck, isArchived, sumOf } from "../database/audit-check.ts";
import { BALANCE_STEPS } from "./balance-steps.ts";
import { SYSTEM_ACCOUNTS } from "../database/system-accounts.ts";
import { TREASURY_CHECKS } from "../treasury/treasury-checks.ts";
import { SOLANA } from "../../domain/payments/payment-id.ts";
import { SEAL_CHECKS } from "./seals.ts";

const { clearing } = SYSTEM_ACCOUNTS;

/** Audit checks of moves between cells. `fleet audit` compares them with those of the other cells. */
export const MOVE_CHECKS: readonly AuditCheck[] = [
  {
    name: "clearings",
    description: "each move between cells was booked once: its amount, between its account and clearing",
    sql: /* sql */ `
      select move.id is null
          or coalesce(case entry.debit when '${clearing}' then entry.amount else -entry.amount end, 0)
            <> case move.direction when 'in' then move.amount else -move.amount end
          or move.account_id not in (entry.debit, entry.credit)
          or '${clearing}' not in (entry.debit, entry.credit) as wrong
      from (select * from transfer where kind = 'clearing') entry
      full join account_move move on uuid_send(move.id) = entry.ref`,
  },
  {
    name: "moved_idle",
    description: "no call of an account that another cell has is running",
    sql: /* sql */ `
      select run.id is not null as wrong
      from account left join run on run.account_id = account.id and run.status = 'active'
      where account.moved_to is not null`,
  },
];

const RELAY_CHECKS: readonly AuditCheck[] = [
  {
    name: "relays_once",
    description: "each quote has one relayed transaction that has not failed",
    sql: /* sql */ `select count(*) > 1 as wrong from relay where state <> 'failed' group by quote_id`,
  },
  {
    name: "relays_paid",
    description: "each payment by a relayed transaction says so, and its relay is not said to have failed",
    sql: /* sql */ `
      select payment.paid_by <> 'gasless' or (relay.state = 'failed' and not payment.reversed) as wrong
      from relay join payment on payment.network = '${SOLANA}' and payment.reference = relay.tx_signature`,
  },
  {
    name: "relay_budget",
    description: "what the relay has spent on a day is the fees of what it signed",
    sql: /* sql */ `
      select coalesce(budget.lamports, -1) <> coalesce(fees.lamports, 0) as wrong
      from (select * from relay_budget where day > (now() at time zone 'utc')::date - 29) budget
      full join (
        select (claimed_at at time zone 'utc')::date as day, sum(fee_lamports) as lamports from relay
        where claimed_at > ((now() at time zone 'utc')::date - 28)::timestamp at time zone 'utc' group by 1
      ) fees on fees.day = budget.day`,
  },
];

/** Audit checks of API keys and their budgets. */
const KEY_CHECKS: readonly AuditCheck[] = [
  {
    name: "key_budgets",
    // It adds up all calls of all time, and a limit is no movement of money.
    wholeOnly: true,
    description:
      "what counts against the limits of a key or group is what its calls from the balance hold or were " +
      "charged, of the current day, of the month and in all",
    sql: /* sql */ `
      select budget.day_spent <> coalesce(taken.day, 0) or budget.month_spent <> coalesce(taken.month, 0)
        or budget.total_spent <> coalesce(taken.total, 0) and not exists (
          select from archive_use used where used.account_id = budget.account_id) as wrong
      from budget
      left join (
        select budget.id,
          sum(amount) filter (where (taken.started_at at time zone 'utc')::date = budget.day) as day,
          sum(amount) filter (
            where date_trunc('month', taken.started_at at time zone 'utc')::date = budget.month) as month,
          sum(amount) as total
        from (
          select run.key_id, run.group_id, run.started_at,
            case run.status when 'active' then run.price else receipt.debited end as amount
          from run left join receipt on receipt.run_id = run.id
          where run.paid_by = 'balance' and run.price > 0 and run.status in ('active', 'completed')
        ) taken
        left join api_key key on key.id = taken.key_id
        cross join lateral (values (key.budget_id), (taken.group_id)) counted (id)
        join budget on budget.id = counted.id
        group by budget.id
      ) taken on taken.id = budget.id
      -- What a key has spent in one cell counts in the other too.
      where not exists (
        select from account_move move where move.account_id = budget.account_id and not move.rest)`,
  },
  {
    name: "runs_keyed",
    description: "each run is of a key of its account, and counts in a group only if the balance pays",
    sql: /* sql */ `
      select key.account_id <> run.account_id
        or run.group_id is not null and (run.paid_by <> 'balance' or run.price = 0) as wrong
      from run join api_key key on key.id = run.key_id`,
  },
];

const { treasury, revenue } = SYSTEM_ACCOUNTS;
const SYSTEM = Object.values(SYSTEM_ACCOUNTS)
  .map((id) => `'${id}'`)
  .join(", ");

/** All ledger invariants: first within a table, then between tables, then against the chain. */
export const CHECKS: readonly AuditCheck[] = [
  {
    name: "balances",
    description: "each balance is the sum of the account's entries less its open holds",
    sql: /* sql */ `
      select account.available is distinct
        from (coalesce(entry.amount, 0) - coalesce(open.amount, 0)) as wrong
      from account
      left join (
        select holder, sum(amount) as amount from total where kind = 'account' group by holder
      ) entry on entry.holder = uuid_send(account.id)
      left join (
        select account_id, sum(price) as amount from run where status = 'active' group by account_id
      ) open on open.account_id = account.id`,
  },
  {
    name: "balance_steps",
    description:
      "the changes of each balance are numbered without a gap but for archived calls, each balance follows " +
      "from the one before, and the account has the last; or an operator's action explains the number",
    sql: `select wrong from (${BALANCE_STEPS}) step`,
  },
  {
    name: "entries",
    description: "each entry moves more than nothing between two different accounts that exist",
    sql: /* sql */ `
      select entry.amount <= 0 or entry.debit = entry.credit
        or debtor.id is null and entry.debit not in (${SYSTEM})
        or creditor.id is null and entry.credit not in (${SYSTEM}) as wrong
      from ledger_entry entry
      left join account debtor on debtor.id = entry.debit
      left join account creditor on creditor.id = entry.credit`,
  },
  {
    name: "transfers_once",
    description: "nothing is transferred twice for the same reason",
    sql: /* sql */ `select count(*) > 1 as wrong from transfer group by kind, ref`,
  },
  {
    name: "payments_credited",
    description:
      "each payment was credited once, and no other: its amount, from the treasury, to its account",
    sql: /* sql */ `
      select count(*) <> 1 or not coalesce(bool_and(deposit.amount = payment.amount
        and deposit.credit = payment.account_id and deposit.debit = '${treasury}'), false) as wrong
      from payment full join (select * from transfer where kind = 'deposit') deposit
        on deposit.ref = payment_ref(payment.network, payment.reference)
      group by coalesce(deposit.ref, payment_ref(payment.network, payment.reference))`,
  },
  {
    name: "quotes_once",
    description: "each quote was settled by one payment",
    sql: /* sql */ `select count(*) > 1 as wrong from payment where settled group by quote_id`,
  },
  {
    name: "payments_claimed",
    description:
      "each settled payment points to a claim that never expires, of a call with the same fingerprint",
    sql: /* sql */ `
      select claim.key is null as wrong
      from payment left join idempotency claim
        on claim.account_id = payment.account_id and claim.key = payment.claim_key
          and claim.fingerprint = payment.fingerprint
          and claim.expires_at = 'infinity'
      where settled`,
  },
  {
    name: "payments_charged_once",
    description: "each payment that pays for a charged call is settled, and pays for one",
    sql: /* sql */ `
      select count(*) > 1 or not coalesce(bool_and(payment.settled), false) as wrong
      from receipt left join payment
        on payment.network = receipt.network and payment.reference = receipt.reference
      where receipt.reference is not null group by receipt.network, receipt.reference`,
  },
  {
    name: "runs_receipted",
    description:
      "each completed run with a price has one receipt, of its account, which charges at most its hold and " +
      "says so; no other run has any",
    sql: /* sql */ `
      select count(receipt.id) <> case when run.status = 'completed' and run.price > 0 then 1 else 0 end
        or coalesce(bool_or(run.account_id <> receipt.account_id or receipt.debited > run.price
          or receipt.quoted <> run.price), false) as wrong
      from run full join receipt on receipt.run_id = run.id
      group by coalesce(run.id, receipt.run_id), run.status, run.price`,
  },
  {
    name: "keys",
    description:
      "each running key has an active run of its account, and each key with a stored answer a completed " +
      "one, here or in another cell",
    sql: /* sql */ `
      select run.id is null and (claim.state = 'running'
        or moved.run_id is null and not ${isArchived("uuid_send(claim.run_id)")}) as wrong
      from idempotency claim left join run on run.id = claim.run_id and run.account_id = claim.account_id
        and case claim.state when 'done' then run.status = 'completed'
          else run.status = 'active' and run.claim_key = claim.key end
      left join moved_run moved on moved.run_id = claim.run_id
      where claim.state in ('done', 'running')`,
  },
  {
    name: "revenue",
    description: "what was earned is what the receipts say, less refunds",
    sql: /* sql */ `
      select ${sumOf(revenue)} is distinct from (select coalesce(sum(amount), 0) from earned) as wrong`,
  },
  {
    name: "revenue_counted",
    description: "the stored revenue up to an entry and the entries after it are the revenue",
    sql: /* sql */ `
      select mark.amount + (
        select coalesce(sum(case when credit = '${revenue}' then amount else -amount end), 0)
        from ledger_entry where '${revenue}' in (credit, debit) and id > mark.counted_to
      ) <> ${sumOf(revenue)} as wrong
      from revenue_mark mark`,
  },
  {
    name: "treasury",
    description:
      "what the treasury gave is what it held at first and what was paid and not reversed, less what " +
      "was withdrawn",
    sql: /* sql */ `
      select -${sumOf(treasury)} is distinct from (select coalesce(sum(amount), 0) from received) as wrong`,
  },
  ...TREASURY_CHECKS,
  ...RELAY_CHECKS,
  ...KEY_CHECKS,
  ...MOVE_CHECKS,
  ...SEAL_CHECKS,
];
