import type { Command } from "commander";
import type { ApiKey, ListedKey } from "../app/accounts/api-keys.ts";
import type { MicroUsd } from "../domain/core/money.ts";
import { validateKeyChange, validateNewKey } from "../domain/accounts/new-key.ts";
import type { KeyRules, RequestedLimits } from "../domain/accounts/new-key.ts";
import { DEFAULT_SCOPES, type Scope } from "../domain/accounts/scope.ts";
import { BUILT_IN_NAMES } from "../tools/index.ts";
import { timestamp, names, scopes, duration, valueOf, orNone, usdc, outputFor } from "./command.ts";
import { withPostgres } from "./database.ts";
import { addGroupCommands, addBudgetOptions, budgetRecord, budgetWith, optionalUsdc } from "./key-groups.ts";
import type { BudgetOptions } from "./key-groups.ts";

/** Only the given options change. */
interface LimitOptions extends BudgetOptions {
  expires?: Date | "none";
  callLimit?: MicroUsd | "none";
  tools?: string[] | "none";
}

interface CreateOptions extends LimitOptions {
  account: string;
  scopes?: Scope[];
  name: string;
  group?: string;
  json?: boolean;
}

interface EditOptions extends LimitOptions {
  key: string;
  name?: string;
  group?: string;
  json?: boolean;
}

/** `keys create | list | edit | rotate | revoke | groups` */
export function addKeyCommands(program: Command): void {
  const keys = program.command("keys").description("manages API keys");

  addLimitOptions(
    keys
      .command("create")
      .description("creates a key and prints its secret, once")
      .requiredOption("--account <id>", "account of the key")
      .option(
        "--scopes <list>",
        `allowed scopes, comma-separated (default: ${DEFAULT_SCOPES.join(",")})`,
        scopes,
      )
      .option("--name <text>", "name of the key", ""),
  ).action(create);

  addLimitOptions(
    keys
      .command("edit")
      .description("changes a key's name, limits or group; what is left out stays as it is")
      .requiredOption("--key <id>", "key")
      .option("--name <text>", "new name"),
  ).action(edit);

  addGroupCommands(keys);

  keys
    .command("list")
    .description("lists keys, newest first, revoked and expired ones included")
    .option("--account <id>", "only keys of this account")
    .option("--json", "print JSON lines")
    .action(async (options: { account?: string; json?: boolean }) => {
      const list = await withPostgres((postgres) => postgres.apiKeys.list(options.account));
      outputFor(options.json ?? false).table(list.map(listedRecord));
    });

  keys
    .command("rotate")
    .description("replaces a key by one with the same limits and budgets, and prints its secret once")
    .requiredOption("--key <id>", "key to replace")
    .option(
      "--overlap <span>",
      "how long the old key keeps working, e.g. 15m or 2d; 0 revokes it at once",
      duration,
      0,
    )
    .option("--json", "print JSON")
    .action(async (options: { key: string; overlap: number; json?: boolean }) => {
      const overlapSeconds = Math.ceil(options.overlap / 1_000);
      const made = await withPostgres((postgres) =>
        postgres.apiKeys.rotate({ keyId: options.key, accountId: undefined, overlapSeconds }),
      );
      const { keyId, revokedAt, limits } = made.oldKey;
      const replaced = { replaced_key_id: keyId, replaced_until: revokedAt ?? limits?.expiresAt ?? null };
      outputFor(options.json ?? false).record({ api_key: made.secret, ...keyRecord(made.key), ...replaced });
    });

  keys
    .command("revoke")
    .description("revokes a key; it stops working on every instance within a second")
    .requiredOption("--key <id>", "key")
    .option("--json", "print JSON")
    .action(async (options: { key: string; json?: boolean }) => {
      const key = await withPostgres((postgres) => postgres.apiKeys.revoke(options.key));
      outputFor(options.json ?? false).record(keyRecord(key));
    });
}

function addLimitOptions(command: Command): Command {
  const limited = command
    .option("--expires <when>", "expiry: 30d, 12h, 2027-01-31T12:00:00Z, or none", orNone(timestamp))
    .option("--call-limit <amount>", "highest price of a call, in USDC, or none", orNone(usdc))
    .option("--tools <list>", "allowed tools, comma-separated, or none for all", orNone(names))
    .option("--group <id>", "group whose budget the key shares, or none");
  return addBudgetOptions(limited).option("--json", "print JSON");
}

async function create(options: CreateOptions): Promise<void> {
  const { account: accountId, name, group: groupId } = options;
  const requested = { name, scopes: options.scopes ?? [], limits: limitsWith(options), groupId };
  const made = await withPostgres((postgres, config) =>
    postgres.apiKeys.create({ accountId, ...validateNewKey(requested, rulesOf(config)) }),
  );
  outputFor(options.json ?? false).record({ api_key: made.secret, ...keyRecord(made.key) });
}

async function edit({ key: keyId, name, group, json, ...limits }: EditOptions): Promise<void> {
  const requested = {
    name,
    limits: Object.keys(limits).length > 0 ? limitsWith(limits) : undefined,
    groupId: group === "none" ? "" : group,
  };
  const key = await withPostgres(({ apiKeys }, config) => {
    const change = validateKeyChange(requested, rulesOf(config));
    return apiKeys.update({ keyId, accountId: undefined, ...change });
  });
  outputFor(json ?? false).record(keyRecord(key));
}

function limitsWith({ expires, callLimit, tools, ...budget }: LimitOptions): RequestedLimits {
  return {
    ...(expires !== undefined && { expiresAt: valueOf(expires) }),
    ...(callLimit !== undefined && { perCall: valueOf(callLimit) }),
    ...(tools !== undefined && { tools: valueOf(tools) ?? [] }),
    ...budgetWith(budget),
  };
}

function rulesOf({ tools }: { tools: readonly { name: string }[] }): KeyRules {
  return { tools: [...BUILT_IN_NAMES, ...tools.map(({ name }) => name)], now: Date.now() };
}

function keyRecord({ limits, budgets, ...key }: ApiKey): Record<string, unknown> {
  return {
    key_id: key.keyId,
    account_id: key.accountId,
    prefix: key.prefix,
    name: key.name,
    scopes: key.scopes,
    tools: limits?.tools ? [...limits.tools] : null,
    group_id: key.groupId ?? null,
    call_limit_usdc: optionalUsdc(limits?.perCall),
    ...budgetRecord(limits, budgets),
    created_at: key.createdAt,
    expires_at: limits?.expiresAt ?? null,
    revoked_at: key.revokedAt ?? null,
  };
}

function listedRecord(key: ListedKey): Record<string, unknown> {
  return { ...keyRecord(key), last_used_at: key.lastUsedAt ?? null };
}
