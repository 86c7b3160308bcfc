import process from "node:process";
import type { Command } from "commander";
import { ToolgateError } from "../domain/core/errors.ts";
import { formatUsdc } from "../domain/core/money.ts";
import { systemClock } from "../system.ts";
import { ANY_WALLET, stepIdOf } from "../domain/payments/quote.ts";
import { explainDatabaseError, commandConfig, quotesOf, withPostgres } from "./database.ts";
import { CommandError, outputFor } from "./command.ts";

/** `migrate`, `quote` */
export function addLedgerCommands(program: Command): void {
  program
    .command("migrate")
    .description("migrates the database to the current schema; safe to run concurrently")
    .option(
      "--grant-to <role>",
      "grant this database role exactly what serve needs, and revoke everything else",
    )
    .option(
      "--grant-backup-to <role>",
      "grant this database role exactly what pgBackRest, pg_dump and replication need; needs a superuser",
    )
    .option("--json", "print JSON")
    .action(migrateDatabase);

  program
    .command("quote")
    .description("decodes a sealed quote id")
    .argument("<id>", "quote_id of a 402 response")
    .option("--json", "print JSON")
    .action(async (id: string, options: { json?: boolean }) => {
      await withPostgres(async (postgres, config) => {
        const quote = quotesOf(postgres, config).open(id);
        if (!quote)
          throw new ToolgateError(
            "NOT_FOUND",
            "not a quote of this installation, or its sealing key was retired",
          );
        outputFor(options.json ?? false).record({
          account_id: quote.accountId === ANY_WALLET ? null : quote.accountId,
          price_usdc: formatUsdc(quote.price),
          step_id: stepIdOf(quote.quoteId),
          binding: quote.fingerprint.toString("hex"),
          issued_at: new Date(quote.issuedAt),
          expires_at: new Date(quote.expiresAt),
          expired: systemClock.now() > quote.expiresAt,
        });
      });
    });
}

async function migrateDatabase({
  json = false,
  grantTo,
  grantBackupTo,
}: {
  json?: boolean;
  grantTo?: string;
  grantBackupTo?: string;
}): Promise<void> {
  const { migrate, SchemaError } = await import("../postgres/database/migrate.ts");
  const { grantServing, GrantError } = await import("../postgres/database/grants.ts");
  const { grantBackup } = await import("../postgres/database/grants.ts");
  const { DATABASE_URL, DATABASE_DIRECT_URL: url = DATABASE_URL } = commandConfig();
  let option = "--grant-to";
  try {
    const { applied } = await migrate(url);
    if (grantTo !== undefined) await grantServing(url, grantTo);
    option = "--grant-backup-to";
    if (grantBackupTo !== undefined) await grantBackup(url, grantBackupTo);
    outputFor(json).record({
      applied,
      ...(grantTo !== undefined && { granted_to: grantTo }),
      ...(grantBackupTo !== undefined && { granted_backup_to: grantBackupTo }),
    });
    if (!json && grantTo !== undefined)
      process.stderr.write(`Serve with ${grantTo} in DATABASE_URL; doctor checks the role.\n`);
  } catch (error) {
    if (error instanceof SchemaError) throw new CommandError(`${error.message}.`, { cause: error });
    if (error instanceof GrantError) throw new CommandError(`${option}: ${error.message}`, { cause: error });
    throw explainDatabaseError(error, url);
  }
}
