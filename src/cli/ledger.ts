import process from "node:process";
import type { Command } from "commander";
import { openArchive } from "../archive/open-archive.ts";
import { ToolgateError } from "../domain/core/errors.ts";
import { ConfigError, type Config, collectSecrets } from "../config/config.ts";
import { formatUsdc } from "../domain/core/money.ts";
import { createLogger } from "../log.ts";
import { systemClock, systemRandom } from "../system.ts";
import { cellOf } from "../domain/core/ids.ts";
import { ANY_WALLET, Quotes, stepIdOf } from "../domain/payments/quote.ts";
import { type CommandConfig, explainDatabaseError, commandConfig, withPostgres } from "./database.ts";
import { CommandError, outputFor } from "./command.ts";

/** Reads every archived month: a line of the audit, none if no month is archived. */
async function archiveFindings(config: CommandConfig) {
  const [{ verifyArchived }, { PostgresMonths }] = await Promise.all([
    import("../app/operations/archive/verify-month.ts"),
    import("../postgres/archive/months.ts"),
  ]);
  const store = new PostgresMonths(config.DATABASE_URL);
  try {
    const archive = await openArchive(config);
    const months = await store.archived();
    const problems: string[] = [];
    for (const month of months) {
      try {
        if (!archive) throw new ToolgateError("UNAVAILABLE", "ARCHIVE_URL is not set");
        await verifyArchived(archive, store, month);
      } catch (error) {
        if (!(error instanceof ToolgateError)) throw error;
        problems.push(month.month);
      }
    }
    if (months.length === 0) return [];
    const unread = problems.length === 0 ? "" : `; not ${problems.join(", ")} (see archive verify)`;
    return [
      {
        invariant: "archived_files",
        checked: BigInt(months.length),
        violations: BigInt(problems.length),
        description: `the files of archived months are those that were verified${unread}`,
      },
    ];
  } finally {
    await store.close();
  }
}

/** Time limit for the RPC endpoints, ms. */
const LIMIT_MS = 15_000;

/** One line of the audit report: ledger against chain. */
interface TreasuryCheck {
  invariant: "treasury_matches_chain";
  checked: bigint;
  violations: bigint;
  description: string;
  chain_usdc: string;
  ledger_usdc: string;
  /** Chain minus ledger. */
  difference_usdc: string;
}

/**
 * Checks that the treasury's token account holds at least the expected balance. More is fine: movements are
 * recorded once final. Less means that a credited deposit is not on the chain, or that a withdrawal is not
 * recorded yet.
 * @throws ConfigError without SOLANA_RPC_URLS and TREASURY_OWNER; CommandError when the account or all
 * endpoints are unavailable
 */
export async function checkTreasury(config: Config & { DATABASE_URL: string }): Promise<TreasuryCheck> {
  const { SOLANA_RPC_URLS: urls, TREASURY_OWNER: treasuryOwner } = config;
  if (urls === undefined || treasuryOwner === undefined) {
    const missing = (["SOLANA_RPC_URLS", "TREASURY_OWNER"] as const).filter(
      (name) => config[name] === undefined,
    );
    throw new ConfigError(missing.map((name) => `${name}: is not set; audit --chain needs it`));
  }
  const [{ expectedTreasuryBalance }, { openChain }, { treasuryBalance }, { RpcError }] = await Promise.all([
    import("../postgres/treasury/treasury-checks.ts"),
    import("../solana/index.ts"),
    import("../solana/treasury/treasury-balance.ts"),
    import("../solana/rpc/rpc-failure.ts"),
  ]);
  const log = createLogger("error", { secrets: collectSecrets(config) });
  const rules = { memoPrefix: config.MEMO_PREFIX, waitMs: 0, finalizedAbove: 0n, clock: systemClock, log };
  const { rpc, treasury } = openChain({ urls, treasuryOwner, ...rules });
  // Reads the ledger first: a deposit credited after that is already on the chain.
  const ledger = await expectedTreasuryBalance(config.DATABASE_URL);
  const chain = await treasuryBalance(rpc, treasury, AbortSignal.timeout(LIMIT_MS)).catch(
    (error: unknown) => {
      if (error instanceof ToolgateError && error.code === "UNAVAILABLE")
        throw new CommandError(
          "Cannot read the treasury: no endpoint of SOLANA_RPC_URLS responds; " +
            "audit without --chain checks the ledger alone.",
          { cause: error },
        );
      if (!(error instanceof RpcError)) throw error;
      throw new CommandError(
        `Cannot read the treasury's account ${treasury.tokenAccount} (${error.message}): ` +
          "check TREASURY_OWNER.",
        { cause: error },
      );
    },
  );
  return {
    invariant: "treasury_matches_chain",
    checked: 1n,
    violations: chain < ledger ? 1n : 0n,
    description:
      `the treasury holds at least the ledger's balance: ` +
      `${formatUsdc(chain)} on the chain, ${formatUsdc(ledger)} in the ledger`,
    chain_usdc: formatUsdc(chain),
    ledger_usdc: formatUsdc(ledger),
    difference_usdc: formatUsdc(chain - ledger),
  };
}

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
