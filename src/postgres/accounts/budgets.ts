import type { EntityManager } from "@mikro-orm/postgresql";
import { isBudget } from "../../domain/accounts/budget.ts";
import type { BudgetLimits, BudgetPeriod, BudgetUse } from "../../domain/accounts/budget.ts";
import { BudgetEntity } from "../database/entities/accounts.ts";

/** Limits of a budget with their use. */
export interface Budget {
  readonly limits: BudgetLimits;
  /** Every period, also those without a limit. */
  readonly uses: readonly BudgetUse[];
}

interface PeriodRow {
  budget_id: string;
  period: BudgetPeriod;
  amount: string | null;
  spent: string;
  held: string;
  warn_percent: number;
  reached: number;
  ends: string | null;
}

const PERIODS = /* sql */ `
  select period.budget_id, period.period, period.amount, period.spent, coalesce(open.held, 0) as held,
    period.warn_percent, period.reached, period.ends::text as ends
  from budget_limit period
  left join lateral (
    select sum(run.price) as held from run left join api_key key on key.id = run.key_id
    where run.status = 'active' and run.account_id = period.account_id and run.paid_by = 'balance'
      and (run.group_id = period.budget_id or key.budget_id = period.budget_id)
      and (period.starts is null or run.started_at >= period.starts::timestamp at time zone 'utc')
  ) open on true
  where period.budget_id = any (?::uuid[])
  order by period.budget_id, period.rank desc`;

/** Budgets by their UUIDs. */
export async function findBudgets(em: EntityManager, ids: readonly string[]): Promise<Map<string, Budget>> {
  if (ids.length === 0) return new Map();
  const rows = await em.execute<PeriodRow[]>(PERIODS, [`{${ids.join(",")}}`]);
  const byBudget = Map.groupBy(rows, (row) => row.budget_id);
  return new Map([...byBudget].map(([id, periods]) => [id, budgetOf(periods)]));
}

function budgetOf(rows: readonly PeriodRow[]): Budget {
  const uses = rows.map(useOf);
  const limit = (wanted: BudgetPeriod) => uses.find(({ period }) => period === wanted)?.limit;
  return {
    uses,
    limits: {
      perDay: limit("day"),
      perMonth: limit("month"),
      inAll: limit("total"),
      warnPercent: rows[0]?.warn_percent ?? 0,
    },
  };
}

const REACHED = [undefined, "threshold", "limit"] as const;

function useOf(row: PeriodRow): BudgetUse {
  const held = BigInt(row.held);
  return {
    period: row.period,
    limit: row.amount === null ? undefined : BigInt(row.amount),
    spent: BigInt(row.spent) - held,
    held,
    resetsAt: row.ends === null ? undefined : new Date(`${row.ends}T00:00:00Z`),
    reached: REACHED[row.reached],
  };
}

/** Locks the account: calls that are authorized later find what this transaction changes. */
export async function lockLimits(em: EntityManager, account: string): Promise<void> {
  await em.execute("select limits_lock(?)", [account]);
}

/** Sets the limits of a budget whose account is locked. */
export async function changeBudget(em: EntityManager, id: string, limits: BudgetLimits): Promise<void> {
  const { perDay = null, perMonth = null, inAll = null, warnPercent } = limits;
  await em.execute("select budget_change(?, ?, ?, ?, ?)", [id, perDay, perMonth, inAll, warnPercent]);
}

/** Sets the limits that the ledger checks; a key without any has no budget. Locks the account. */
export async function setBudget(
  em: EntityManager,
  { id, account, budgetId }: { id: string; account: string; budgetId: string | null | undefined },
  limits: BudgetLimits,
): Promise<void> {
  if (isBudget(limits)) {
    if (budgetId) await lockLimits(em, account);
    else await em.execute("select budget_open(?)", [id]);
    await changeBudget(em, budgetId ?? id, limits);
    return;
  }
  await lockLimits(em, account);
  if (budgetId) await em.nativeDelete(BudgetEntity, { id: budgetId });
}
