import type { Command } from "commander";
import { type BudgetLimits, type BudgetUse, DEFAULT_WARN_PERCENT } from "../domain/accounts/budget.ts";
import { formatUsdc, type MicroUsd } from "../domain/core/money.ts";
import { optionOr, orNone, percent, usdc } from "./arguments.ts";

export interface BudgetOptions {
  dayLimit?: MicroUsd | "none";
  monthLimit?: MicroUsd | "none";
  totalLimit?: MicroUsd | "none";
  warn?: number;
}

/** Adds the options of limits per period. */
export function addBudgetOptions(command: Command): Command {
  return command
    .option(
      "--day-limit <amount>",
      "highest spend from the balance per day (UTC), in USDC, or none",
      orNone(usdc),
    )
    .option("--month-limit <amount>", "the same per calendar month (UTC)", orNone(usdc))
    .option("--total-limit <amount>", "the same in all", orNone(usdc))
    .option(
      "--warn <percent>",
      `warning level, percent of a limit (default: ${DEFAULT_WARN_PERCENT})`,
      percent,
    );
}

/** Returns the limits with what the options change. */
export function budgetWith(options: BudgetOptions, old?: BudgetLimits): BudgetLimits {
  return {
    perDay: optionOr(options.dayLimit, old?.perDay),
    perMonth: optionOr(options.monthLimit, old?.perMonth),
    inAll: optionOr(options.totalLimit, old?.inAll),
    warnPercent: options.warn ?? old?.warnPercent ?? DEFAULT_WARN_PERCENT,
  };
}

/** Columns of limits and their use. */
export function budgetRecord(
  limits: Partial<BudgetLimits> | undefined,
  uses: readonly BudgetUse[],
): Record<string, unknown> {
  const { perDay, perMonth, inAll } = limits ?? {};
  return {
    day_limit_usdc: optionalUsdc(perDay),
    month_limit_usdc: optionalUsdc(perMonth),
    total_limit_usdc: optionalUsdc(inAll),
    warn_percent: limits?.warnPercent ?? null,
    budgets: uses.map(({ period, limit, spent, held, resetsAt, reached }) => ({
      period,
      limit_usdc: optionalUsdc(limit),
      spent_usdc: formatUsdc(spent),
      held_usdc: formatUsdc(held),
      resets_at: resetsAt ?? null,
      reached: reached ?? "none",
    })),
  };
}

export function optionalUsdc(amount: MicroUsd | undefined): string | null {
  return amount === undefined ? null : formatUsdc(amount);
}
