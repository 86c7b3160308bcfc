import { randomUUID } from "node:crypto";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { InvalidArgumentError, type Command } from "commander";
import { moveAccount, type MovedAccount } from "../app/cells/account-moves.ts";
import { recordedAction } from "../app/operations/operator-actions.ts";
import { ConfigError, readConfig, readEnvironment, collectSecrets } from "../config/config.ts";
import { ToolgateError } from "../domain/core/errors.ts";
import { formatUsdc, type MicroUsd } from "../domain/core/money.ts";
import { createLogger } from "../log.ts";
import type { OpenCell } from "../postgres/cells/open-cells.ts";
import { auditFleet } from "../app/cells/fleet.ts";
import type { AuditFinding } from "../app/operations/audit.ts";
import { systemClock } from "../system.ts";
import { duration, outputFor } from "./command.ts";
import { onCells } from "./database.ts";
import { addMapsCommand } from "./cell-maps.ts";
import { commandActor } from "./operator-log.ts";

/** Time between counts of running calls, ms. */
const PAUSE_MS = 100;

interface MoveOptions {
  readonly account: string;
  readonly to: number;
  readonly wait: number;
  readonly json?: boolean;
}

/** `cells move | cancel | sweep | maps` */
export function addCellCommands(program: Command): void {
  const cells = program
    .command("cells")
    .description("manages accounts over several cells; needs CELL_DATABASE_URLS");

  cells
    .command("move")
    .description("moves an account with balance and keys to another cell; after a crash, repeat it")
    .requiredOption("--account <id>", "account")
    .requiredOption("--to <cell>", "number of the cell", cellNumber)
    .option("--wait <span>", "how long to wait for running calls, e.g. 90s or 15m", duration, 600_000)
    .option("--json", "print JSON")
    .action((options: MoveOptions) => onCells((opened) => move(opened, options)));

  cells
    .command("cancel")
    .description("lets an account work again whose move has not booked its balance out")
    .requiredOption("--account <id>", "account")
    .option("--json", "print JSON")
    .action((options: { account: string; json?: boolean }) => onCells((opened) => cancel(opened, options)));

  cells
    .command("sweep")
    .description("finishes interrupted moves, and sends money that reached accounts after they moved")
    .option("--json", "print JSON lines")
    .action((options: { json?: boolean }) => onCells((opened) => sweep(opened, options.json ?? false)));

  addMapsCommand(cells);
}

async function move(
  cells: readonly OpenCell[],
  { account, to, wait, json = false }: MoveOptions,
): Promise<void> {
  const target = cells.find(({ number }) => number === to);
  if (!target) throw new ConfigError([`CELL_DATABASE_URLS: has no cell ${to}`]);
  const sources = await sourcesOf(cells, account, target);
  const moved: (MovedAccount & { from: number })[] = [];
  for (const source of sources) {
    const result = await moveBetween(source, target, account, wait);
    if (result) moved.push({ ...result, from: source.number });
  }
  const amount = moved.reduce((sum, one) => sum + one.amount, 0n);
  outputFor(json).record({
    account_id: moved.at(-1)?.accountId ?? account,
    from: moved.map(({ from }) => from),
    to,
    moved_usdc: formatUsdc(amount),
  });
}

/** The cells that have the account, or sent it to the target before. */
async function sourcesOf(
  cells: readonly OpenCell[],
  account: string,
  target: OpenCell,
): Promise<readonly OpenCell[]> {
  const known = await Promise.all(
    cells.map(async (cell) => ({ cell, found: await cell.moves.find(account) })),
  );
  const sources = known
    .filter(
      ({ cell, found }) => cell !== target && found && (found.movedTo ?? target.number) === target.number,
    )
    .map(({ cell }) => cell);
  if (sources.length > 0 || known.some(({ cell, found }) => cell === target && found)) return sources;
  const [movedTo] = known.flatMap(({ found }) => found?.movedTo ?? []);
  throw new ToolgateError(
    "NOT_FOUND",
    movedTo === undefined
      ? `no cell has the account ${account}`
      : `${account} has joined its wallet's account in cell ${movedTo}: name that account`,
  );
}

function moveBetween(
  from: OpenCell,
  to: OpenCell,
  account: string,
  waitMs: number,
): Promise<MovedAccount | undefined> {
  const log = createLogger("warn", { secrets: collectSecrets(readConfig(readEnvironment())) });
  const until = performance.now() + waitMs;
  const deps = {
    from: from.moves,
    to: to.moves,
    newReference: () => randomUUID(),
    pause: () => sleep(PAUSE_MS),
    mayWait: () => performance.now() < until,
  };
  const action = {
    actor: commandActor(),
    name: "account.move" as const,
    target: account,
    details: { from_cell: from.number, to_cell: to.number },
    idempotencyKey: undefined,
  };
  return recordedAction({ actions: from.actions, log }, action, () => moveAccount(deps, account));
}

async function cancel(
  cells: readonly OpenCell[],
  { account, json = false }: { account: string; json?: boolean },
): Promise<void> {
  for (const { number, moves } of cells) {
    if (await moves.freeze(account, false))
      return outputFor(json).record({ account_id: account, cell: number });
  }
  throw new ToolgateError(
    "INVALID_REQUEST",
    `account: ${account} is in no cell, or its balance is booked out: repeat the move, then move it back`,
  );
}

async function sweep(cells: readonly OpenCell[], json: boolean): Promise<void> {
  const rows: Record<string, unknown>[] = [];
  for (const from of cells) {
    for (const { accountId, to } of await from.moves.unfinished()) {
      const target = cells.find(({ number }) => number === to);
      const moved = target && (await moveBetween(from, target, accountId, 0));
      rows.push({
        account_id: accountId,
        from: from.number,
        to,
        moved_usdc: moved ? formatUsdc(moved.amount) : null,
        problem: target ? null : "this cell is not in CELL_DATABASE_URLS",
      });
    }
  }
  if (rows.length > 0) return outputFor(json).table(rows);
  if (!json) process.stderr.write("Nothing reached an account after it moved.\n");
}

function cellNumber(text: string): number {
  const cell = Number(text);
  if (/^\d{1,5}$/.test(text) && cell >= 1 && cell <= 65_535) return cell;
  throw new InvalidArgumentError("must be the number of a cell, 1 to 65535");
}

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
