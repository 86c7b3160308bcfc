import type { Command } from "commander";
import type { KeyGroup } from "../app/accounts/key-groups.ts";
import { nameOf, nothingToChange } from "../domain/accounts/new-key.ts";
import { withPostgres } from "./database.ts";
import { addBudgetOptions, budgetRecord, type BudgetOptions, budgetWith } from "./key-limits.ts";
import { outputFor } from "./output.ts";

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
      const wished = { accountId, name: nameOf(name), limits: budgetWith(limits) };
      print(await withPostgres(({ keyGroups }) => keyGroups.create(wished)), json);
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
      const group = await withPostgres(async ({ keyGroups }) => {
        const old = (await keyGroups.list(accountId)).find((one) => one.groupId === groupId);
        return keyGroups.update({
          groupId,
          accountId,
          name: name === undefined ? undefined : nameOf(name),
          limits: limited ? budgetWith(limits, old?.limits) : undefined,
        });
      });
      print(group, json);
    });

  groups
    .command("delete")
    .description("deletes a group; its keys stay, without a group")
    .requiredOption("--group <id>", "group")
    .option("--json", "print JSON")
    .action(async ({ group, json }: GroupOptions) => {
      await withPostgres(({ keyGroups }) => keyGroups.delete(group, undefined));
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
  return {
    group_id: groupId,
    account_id: accountId,
    name,
    keys: keyIds,
    ...budgetRecord(limits, budgets),
  };
}
