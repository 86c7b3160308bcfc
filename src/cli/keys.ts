import type { Command } from "commander";
import type { ApiKey, ListedKey } from "../app/accounts/api-keys.ts";
import { formatUsdc, type MicroUsd } from "../domain/core/money.ts";
import { validateNewKey } from "../domain/accounts/new-key.ts";
import { DEFAULT_SCOPES, type Scope } from "../domain/accounts/scope.ts";
import { BUILT_IN_NAMES } from "../tools/index.ts";
import { timestamp, names, scopes, duration, usdc } from "./arguments.ts";
import { withPostgres } from "./database.ts";
import { outputFor } from "./output.ts";

interface CreateOptions {
  account: string;
  scopes?: Scope[];
  name: string;
  expires?: Date;
  callLimit?: MicroUsd;
  dayLimit?: MicroUsd;
  tools?: string[];
  json?: boolean;
}

/** `keys create | list | rotate | revoke` */
export function addKeyCommands(program: Command): void {
  const keys = program.command("keys").description("manages API keys");

  keys
    .command("create")
    .description("creates a key and prints its secret, once")
    .requiredOption("--account <id>", "account of the key")
    .option(
      "--scopes <list>",
      `allowed scopes, comma-separated (default: ${DEFAULT_SCOPES.join(",")})`,
      scopes,
    )
    .option("--name <text>", "name of the key", "")
    .option("--expires <when>", "expiry: 30d, 12h, or 2027-01-31T12:00:00Z (default: never)", timestamp)
    .option("--call-limit <amount>", "highest price of a call, in USDC", usdc)
    .option("--day-limit <amount>", "highest spend from the balance per day (UTC), in USDC", usdc)
    .option("--tools <list>", "allowed tools, comma-separated (default: all)", names)
    .option("--json", "print JSON")
    .action(create);

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
    .description("replaces a key by one with the same limits and daily budget, and prints its secret once")
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

async function create(options: CreateOptions): Promise<void> {
  const { account: accountId, name, expires: expiresAt, callLimit: perCall, dayLimit: perDay } = options;
  const limits = { expiresAt, perCall, perDay, tools: options.tools ?? [] };
  const made = await withPostgres((postgres, config) => {
    const tools = [...BUILT_IN_NAMES, ...config.tools.map((tool) => tool.name)];
    const wished = validateNewKey({ name, scopes: options.scopes ?? [], limits }, { tools, now: Date.now() });
    return postgres.apiKeys.create({ accountId, ...wished });
  });
  outputFor(options.json ?? false).record({ api_key: made.secret, ...keyRecord(made.key) });
}

function keyRecord({ limits, ...key }: ApiKey): Record<string, unknown> {
  return {
    key_id: key.keyId,
    account_id: key.accountId,
    prefix: key.prefix,
    name: key.name,
    scopes: key.scopes,
    tools: limits?.tools ? [...limits.tools] : null,
    call_limit_usdc: limits?.perCall === undefined ? null : formatUsdc(limits.perCall),
    day_limit_usdc: limits?.perDay === undefined ? null : formatUsdc(limits.perDay),
    created_at: key.createdAt,
    expires_at: limits?.expiresAt ?? null,
    revoked_at: key.revokedAt ?? null,
  };
}

function listedRecord(key: ListedKey): Record<string, unknown> {
  return { ...keyRecord(key), last_used_at: key.lastUsedAt ?? null };
}
