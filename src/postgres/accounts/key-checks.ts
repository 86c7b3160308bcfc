import type { AuditCheck } from "../database/audit-check.ts";

/** Audit checks of API keys and their budgets. */
export const KEY_CHECKS: readonly AuditCheck[] = [
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
