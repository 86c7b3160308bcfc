import process from "node:process";
import type { Command } from "commander";
import { cellOf } from "../domain/core/cell.ts";
import { ToolgateError } from "../domain/core/errors.ts";
import { formatUsdc } from "../domain/core/money.ts";
import { ANY_WALLET, Quotes, stepIdOf } from "../domain/payments/quote.ts";
import { systemClock, systemRandom } from "../system.ts";
import { CommandError } from "./command-error.ts";
import { explainDatabaseError } from "./database-error.ts";
import { commandConfig, withPostgres } from "./database.ts";
import { outputFor } from "./output.ts";
import { archiveFindings } from "./archive-findings.ts";
import { checkTreasury } from "./treasury-check.ts";

/** `migrate`, `quote`, `audit` */
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
        const quote = new Quotes(
          postgres.sealingKeys,
          systemClock,
          systemRandom,
          config.QUOTE_TTL_SECONDS,
          cellOf(config.CELL),
        ).open(id);
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

  program
    .command("audit")
    .description(
      "checks every ledger invariant on what changed since the last clean audit; exits with 1 on a violation",
    )
    .option("--full", "read all history, also archived files, and check it against the seals of clean audits")
    .option(
      "--chain",
      "also check that the treasury holds at least the ledger's balance (more: deposits not yet recorded, " +
        "less: withdrawals not yet recorded); needs SOLANA_RPC_URLS and TREASURY_OWNER, or a running dev",
    )
    .option("--json", "print JSON lines")
    .action(async (options: { chain?: boolean; full?: boolean; json?: boolean }) => {
      const lines = await withPostgres(async (postgres, config) => [
        ...(await postgres.audit(undefined, { whole: options.full ?? false })).map(({ name, ...line }) => ({
          invariant: name,
          ...line,
        })),
        ...(options.full ? await archiveFindings(config) : []),
        ...(options.chain ? [await checkTreasury(config)] : []),
      ]);
      outputFor(options.json ?? false).table(
        lines.map(({ invariant, checked, violations, description, ...more }) => ({
          invariant,
          checked,
          violations,
          description,
          ...more,
        })),
      );
      const violated = lines.filter((line) => line.violations > 0n).map((line) => line.invariant);
      if (!options.json) process.stderr.write(`${conclusionOf(lines.length, violated)}\n`);
      if (violated.length > 0) process.exitCode = 1;
    });
}

function conclusionOf(checked: number, violated: readonly string[]): string {
  return violated.length === 0
    ? `All ${checked} invariants hold.`
    : `${violated.length} of ${checked} invariants are violated: ${violated.join(", ")}.`;
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
  const { grantBackup } = await import("../postgres/database/backup-grants.ts");
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
