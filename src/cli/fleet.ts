import process from "node:process";
import type { Command } from "commander";
import { auditFleet } from "../app/cells/fleet.ts";
import type { AuditFinding } from "../app/operations/audit.ts";
import { ConfigError, readConfig, readEnvironment } from "../config/config.ts";
import { collectSecrets } from "../config/secrets.ts";
import { formatUsdc, type MicroUsd } from "../domain/core/money.ts";
import { createLogger } from "../log.ts";
import type { OpenCell } from "../postgres/cells/open-cells.ts";
import { systemClock } from "../system.ts";
import { onCells } from "./cell-databases.ts";
import { outputFor } from "./output.ts";

/** Time limit for the RPC endpoints, ms. */
const LIMIT_MS = 15_000;

interface AuditOptions {
  readonly full?: boolean;
  readonly chain?: boolean;
  readonly json?: boolean;
}

/** `fleet status | audit` */
export function addFleetCommands(program: Command): void {
  const fleet = program.command("fleet").description("looks at all cells; needs CELL_DATABASE_URLS");

  fleet
    .command("status")
    .description("shows versions, gateways, standbys, accounts and sums of each cell")
    .option("--json", "print JSON lines")
    .action(({ json = false }: { json?: boolean }) => onCells((cells) => status(cells, json)));

  fleet
    .command("audit")
    .description("audits each cell and what moved between them; exits with 1 on a violation")
    .option("--full", "read all history of each cell")
    .option("--chain", "also compare all treasuries with the ledgers; needs SOLANA_RPC_URLS")
    .option("--json", "print JSON lines")
    .action((options: AuditOptions) => onCells((cells) => audit(cells, options)));
}

async function status(cells: readonly OpenCell[], json: boolean): Promise<void> {
  const rows = await Promise.all(
    cells.map(async ({ number, reports }) => {
      const figures = await reports.figures();
      return {
        cell: number,
        schema: figures.schema,
        postgres: figures.postgres,
        gateways: figures.gateways,
        standbys: figures.standbys,
        synchronous: figures.synchronousStandbys,
        lag_ms: figures.lagMs ?? null,
        accounts: figures.accounts,
        moved: figures.moved,
        unfinished: figures.unfinished,
        liabilities_usdc: formatUsdc(figures.liabilities),
        expected_usdc: formatUsdc(figures.expected),
        clearing_usdc: formatUsdc(figures.clearing),
      };
    }),
  );
  outputFor(json).table(rows);
}

async function audit(cells: readonly OpenCell[], options: AuditOptions): Promise<void> {
  const { full = false, chain = false, json = false } = options;
  const own = await Promise.all(
    cells.map(async ({ number, audit: auditCell }) => {
      const findings = await auditCell(undefined, { whole: full });
      return findings.map((finding) => ({ cell: number, ...finding }));
    }),
  );
  const reports = cells.map(({ number, reports: read }) => ({ cell: number, reports: read }));
  const over = [
    ...(await auditFleet(reports, systemClock.now())),
    ...(chain ? [await treasuriesFinding(cells)] : []),
  ].map((finding) => ({ cell: "all" as const, ...finding }));
  const rows = [...own.flat(), ...over].map(({ cell, name, checked, violations, description }) => ({
    cell,
    invariant: name,
    checked,
    violations,
    description,
  }));
  const violated = rows.filter(({ violations }) => violations > 0n);
  outputFor(json).table(json || violated.length === 0 ? rows : violated);
  if (!json)
    process.stderr.write(
      violated.length === 0
        ? `All ${rows.length} invariants of ${cells.length} cells hold.\n`
        : `${violated.length} of ${rows.length} invariants are violated. For moves: run cells sweep.\n`,
    );
  if (violated.length > 0) process.exitCode = 1;
}

/** All treasuries together hold at least what the ledgers expect: payments that are not final add to it. */
async function treasuriesFinding(cells: readonly OpenCell[]): Promise<AuditFinding> {
  const config = readConfig(readEnvironment());
  const { SOLANA_RPC_URLS: urls } = config;
  if (urls === undefined)
    throw new ConfigError(["SOLANA_RPC_URLS: is not set; fleet audit --chain needs it"]);
  const [{ SolanaRpc }, { treasuryBalance }] = await Promise.all([
    import("../solana/rpc/rpc.ts"),
    import("../solana/treasury/treasury-balance.ts"),
  ]);
  const log = createLogger("error", { secrets: collectSecrets(config) });
  const rpc = new SolanaRpc(urls, { clock: systemClock, log, attemptMs: 3_000 });
  let [held, expected, checked]: [MicroUsd, MicroUsd, bigint] = [0n, 0n, 0n];
  for (const { reports } of cells) {
    // The ledger first: what it credits after that is already on the chain.
    for (const treasury of await reports.treasuries()) {
      expected += treasury.expected;
      held += await treasuryBalance(rpc, treasury, AbortSignal.timeout(LIMIT_MS));
      checked++;
    }
  }
  return {
    name: "treasuries",
    description: `all treasuries hold ${formatUsdc(held)} USDC, and at least ${formatUsdc(expected)}`,
    checked,
    violations: held < expected ? 1n : 0n,
  };
}
