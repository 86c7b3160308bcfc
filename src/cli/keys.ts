import type { Command } from "commander";
import type { ApiKey } from "../app/ports.ts";
import { DEFAULT_SCOPES, type Scope } from "../domain/scope.ts";
import { scopes } from "./arguments.ts";
import { withPostgres } from "./database.ts";
import { outputFor } from "./output.ts";

/** `keys create | list | revoke` */
export function addKeyCommands(program: Command): void {
  const keys = program.command("keys").description("operator's work with API keys");

  keys
    .command("create")
    .description("makes a key and prints it; it is shown this once")
    .requiredOption("--account <id>", "account that the key acts for")
    .option("--scopes <list>", `what it may do, separated by commas (default: ${DEFAULT_SCOPES.join(",")})`, scopes)
    .option("--name <text>", "name to recognise it by", "")
    .option("--json", "print JSON")
    .action(async (options: { account: string; scopes?: Scope[]; name: string; json?: boolean }) => {
      const made = await withPostgres((postgres) =>
        postgres.apiKeys.create({
          accountId: options.account,
          name: options.name,
          scopes: options.scopes ?? DEFAULT_SCOPES,
        }),
      );
      outputFor(options.json ?? false).record({ api_key: made.secret, ...keyRecord(made.key) });
    });

  keys
    .command("list")
    .description("lists keys, newest first, revoked ones included")
    .option("--account <id>", "only this account's")
    .option("--json", "print JSON lines")
    .action(async (options: { account?: string; json?: boolean }) => {
      const list = await withPostgres((postgres) => postgres.apiKeys.list(options.account));
      outputFor(options.json ?? false).table(list.map(keyRecord));
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

function keyRecord(key: ApiKey): Record<string, unknown> {
  return {
    key_id: key.keyId,
    account_id: key.accountId,
    prefix: key.prefix,
    name: key.name,
    scopes: key.scopes,
    created_at: key.createdAt,
    revoked_at: key.revokedAt ?? null,
  };
}
