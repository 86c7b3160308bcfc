import process from "node:process";
import type { Command } from "commander";
import { openArchive } from "../archive/open-archive.ts";
import { ToolgateError } from "../domain/core/errors.ts";
import { ConfigError, type Config, collectSecrets } from "../config/config.ts";
import { formatUsdc } from "../domain/core/money.ts";
import { createLogger } from "../log.ts";
import { systemClock } from "../system.ts";
import { type CommandConfig, withPostgres } from "./database.ts";
import { CommandError, outputFor } from "./command.ts";
import { logFindings } from "./audit-log.ts";

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

interface AuditOptions {
  readonly chain?: boolean;
  readonly full?: boolean;
  readonly log?: readonly string[];
  readonly json?: boolean;
}

/** `audit` */
export function addAuditCommand(program: Command): void {
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
    .option(
      "--log <file...>",
      "with --full: also compare OPERATOR_LOG files, and logs of gateways, with the database: seals, " +
        "operators' actions and charges",
    )
    .option("--json", "print JSON lines")
    .action(async (options: AuditOptions, command: Command) => {
      const { full = false, log = [] } = options;
      if (log.length > 0 && !full) command.error("error: --log needs --full");
      const lines = await withPostgres(async (postgres, config) => [
        // Before the audit seals again.
        ...(log.length > 0 ? await logFindings(postgres, log) : []),
        ...(await postgres.audit(undefined, { whole: full })).map(({ name, ...line }) => ({
          invariant: name,
          ...line,
        })),
        ...(full ? await archiveFindings(config) : []),
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
