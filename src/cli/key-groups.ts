import type { Command } from "commander";
import {
  type BudgetLimits,
  type BudgetUse,
  DEFAULT_WARN_PERCENT,
  NO_BUDGET,
} from "../domain/accounts/budget.ts";
import { formatUsdc, type MicroUsd } from "../domain/core/money.ts";
import type { KeyGroup } from "../app/accounts/api-keys.ts";
import { nameOf, nothingToChange } from "../domain/accounts/new-key.ts";
import { valueOf, orNone, percent, usdc, outputFor } from "./command.ts";
import { withPostgres } from "./database.ts";

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

export function budgetWith({ dayLimit, monthLimit, totalLimit, warn }: BudgetOptions): Partial<BudgetLimits> {
  return {
    ...(dayLimit !== undefined && { perDay: valueOf(dayLimit) }),
    ...(monthLimit !== undefined && { perMonth: valueOf(monthLimit) }),
    ...(totalLimit !== undefined && { inAll: valueOf(totalLimit) }),
    ...(warn !== undefined && { warnPercent: warn }),
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

interface GroupOptions extends BudgetOptions {
  group: string;
  account: string;
  name?: string;
  json?: boolean;
}

/** `keys groups create | list | edit | delete` */
export function addGroupCommands(keys: Command): void {
  const groups = keys.command("groups").description("manages groups of keys that share a budget");

  addBudgetOptions(
    groups
      .command("create")
      .description("creates a group; keys join it with keys create --group or keys edit --group")
      .requiredOption("--account <id>", "account of the group")
      .requiredOption("--name <text>", "name of the group"),
  )
    .option("--json", "print JSON")
    .action(async ({ account: accountId, name = "", json, ...limits }: GroupOptions) => {
      const requested = { accountId, name: nameOf(name), limits: { ...NO_BUDGET, ...budgetWith(limits) } };
      print(await withPostgres(({ keyGroups }) => keyGroups.create(requested)), json);
    });

  groups
    .command("list")
    .description("lists an account's groups with their spending, oldest first")
    .requiredOption("--account <id>", "account")
    .option("--json", "print JSON lines")
    .action(async ({ account, json }: GroupOptions) => {
      const list = await withPostgres(({ keyGroups }) => keyGroups.list(account));
      outputFor(json ?? false).table(list.map(groupRecord));
    });

  addBudgetOptions(
    groups
      .command("edit")
      .description("changes a group's name or limits; what is left out stays as it is")
      .requiredOption("--account <id>", "account of the group")
      .requiredOption("--group <id>", "group")
      .option("--name <text>", "new name"),
  )
    .option("--json", "print JSON")
    .action(async ({ account: accountId, group: groupId, name, json, ...limits }: GroupOptions) => {
      const limited = Object.keys(limits).length > 0;
      if (name === undefined && !limited) throw nothingToChange("--name or a limit");
      const change = {
        groupId,
        accountId,
        name: name === undefined ? undefined : nameOf(name),
        limits: limited ? budgetWith(limits) : undefined,
      };
      print(await withPostgres(({ keyGroups }) => keyGroups.update(change)), json);
    });

  groups
    .command("delete")
    .description("deletes a group; its keys stay, without a group")
    .requiredOption("--account <id>", "account of the group")
    .requiredOption("--group <id>", "group")
    .option("--json", "print JSON")
    .action(async ({ account, group, json }: GroupOptions) => {
      await withPostgres(({ keyGroups }) => keyGroups.delete(group, account));
      outputFor(json ?? false).record({ group_id: group, deleted: true });
    });
}

function print(group: KeyGroup, json: boolean | undefined): void {
  outputFor(json ?? false).record(groupRecord(group));
}

function groupRecord({
  groupId,
  accountId,
  name,
  limits,
  budgets,
  keyIds,
}: KeyGroup): Record<string, unknown> {
  return { group_id: groupId, account_id: accountId, name, keys: keyIds, ...budgetRecord(limits, budgets) };
}
