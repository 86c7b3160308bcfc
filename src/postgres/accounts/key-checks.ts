import type { AuditCheck } from "../database/audit-check.ts";

/** Audit checks of API key budgets. */
export const KEY_CHECKS: readonly AuditCheck[] = [
  {
    name: "key_budgets",
    description:
      "what keys with a limit per day have spent on a day is the holds of their calls from the " +
      "balance, open or captured",
    sql: /* sql */ `
      select coalesce(budget.spent, 0) <> coalesce(taken.amount, 0) as wrong
      from key_budget budget
      full join (
        select run.budget_id, (run.started_at at time zone 'utc')::date as day, sum(hold.amount) as amount
        from run join hold on hold.run_id = run.id and hold.state in ('open', 'captured')
        where run.budget_id is not null group by 1, 2
      ) taken on taken.budget_id = budget.budget_id and taken.day = budget.day`,
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
