import type { AuditCheck } from "../database/audit-check.ts";

/** Audit checks of API key budgets. */
export const KEY_CHECKS: readonly AuditCheck[] = [
  {
    name: "key_budgets",
    // It adds up all calls of a day, and the limit is no movement of money.
    wholeOnly: true,
    description:
      "what keys with a limit per day have spent on a day is what their calls from the balance hold " +
      "or were charged",
    sql: /* sql */ `
      select coalesce(budget.spent, 0) <> coalesce(taken.amount, 0) as wrong
      from key_budget budget
      full join (
        select run.budget_id, (run.started_at at time zone 'utc')::date as day,
          sum(case run.status when 'active' then run.price else receipt.debited end) as amount
        from run left join receipt on receipt.run_id = run.id
        where run.budget_id is not null and run.status in ('active', 'completed') group by 1, 2
      ) taken on taken.budget_id = budget.budget_id and taken.day = budget.day
      -- What a key has spent in one cell counts in the other too.
      where not exists (
        select from api_key key join account_move move on move.account_id = key.account_id
        where key.budget_id = coalesce(budget.budget_id, taken.budget_id) and not move.rest)`,
  },
  {
    name: "runs_keyed",
    description:
      "each run is of a key of its account, and counted where that key has a limit per day and the " +
      "balance pays",
    sql: /* sql */ `
      select key.account_id <> run.account_id or run.budget_id is distinct from
          case when key.day_limit is not null and run.paid_by = 'balance' and run.price > 0
            then key.budget_id end as wrong
      from run join api_key key on key.id = run.key_id`,
  },
];
