import type { Pool } from "pg";
import type { AccountMoves } from "../../app/cells/account-moves.ts";
import type { CellReports } from "../../app/cells/fleet.ts";
import type { Audit } from "../../app/operations/audit.ts";
import type { OperatorActionLog } from "../../app/operations/operator-actions.ts";
import { SealedBodies } from "../../domain/accounts/sealed-bodies.ts";
import type { Clock, Random } from "../../domain/core/clock.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { Log } from "../../domain/core/log.ts";
import { identityOf } from "../database/identity.ts";
import { openPool } from "../database/pool.ts";
import { sealingAudit } from "../operations/audit-database.ts";
import { PostgresOperatorActions } from "../operations/operator-actions.ts";
import { PostgresSealingKeys } from "../payments/sealing-keys.ts";
import { PostgresAccountMoves } from "./account-moves.ts";
import { PostgresCellReports } from "./cell-reports.ts";
import { PostgresRoutes, type Routes } from "./routes.ts";

/** One cell for an operator's commands. */
export interface OpenCell {
  readonly number: number;
  readonly moves: AccountMoves;
  readonly routes: Routes;
  readonly reports: CellReports;
  /** Checks the cell's own ledger. */
  readonly audit: Audit;
  readonly actions: OperatorActionLog;
}

export interface OpenCellsOptions {
  readonly urls: ReadonlyMap<number, string>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * Opens the databases of cells for one command.
 * @throws ToolgateError INVALID_REQUEST when two of them are the same database; errors of connections
 */
export async function withCells<Result>(
  { urls, ...options }: OpenCellsOptions,
  run: (cells: readonly OpenCell[]) => Promise<Result>,
): Promise<Result> {
  const pools = [...urls].map(([number, url]) => ({
    number,
    url,
    pool: openPool(url, { max: 2, applicationName: "toolgate cells" }),
  }));
  try {
    await requireDistinct(pools);
    return await run(
      pools.map(({ number, url, pool }) => ({
        number,
        moves: openMoves(pool, number, options),
        routes: new PostgresRoutes(pool),
        reports: new PostgresCellReports(pool),
        audit: sealingAudit(url, { url }),
        actions: new PostgresOperatorActions(pool, options.clock, options.random),
      })),
    );
  } finally {
    await Promise.all(pools.map(({ pool }) => pool.end()));
  }
}

export function openMoves(
  pool: Pool,
  cell: number,
  options: Pick<OpenCellsOptions, "clock" | "random" | "log">,
): AccountMoves {
  // Opened for each use: most commands need no secrets, and may read a database that takes no writes.
  const openBodies = async () =>
    new SealedBodies(await PostgresSealingKeys.open({ pool, ...options }), options.random, "webhook");
  return new PostgresAccountMoves(pool, cell, openBodies);
}

/** What leaves one cell must arrive in another. */
async function requireDistinct(cells: readonly { number: number; pool: Pool }[]): Promise<void> {
  const known = new Map<string, number>();
  for (const { number, pool } of cells) {
    const { rows } = await pool.query<{ name: string }>("select current_database() as name");
    const { cluster } = await identityOf(pool);
    const database = `${cluster} ${rows[0]?.name}`;
    const other = known.get(database);
    if (other !== undefined && cluster !== "")
      throw new ToolgateError(
        "INVALID_REQUEST",
        `CELL_DATABASE_URLS: cells ${other} and ${number} have the same database`,
      );
    known.set(database, number);
  }
}
