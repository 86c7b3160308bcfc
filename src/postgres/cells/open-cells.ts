import { base58 } from "@scure/base";
import type { Pool } from "pg";
import type { CellFigures, CellReports, MoveSide } from "../../app/cells/fleet.ts";
import { queryWithRetry } from "../database/retry.ts";
import { idFromUuid } from "../database/row-mapping.ts";
import { SYSTEM_ACCOUNTS } from "../database/system-accounts.ts";
import type { AccountMoves } from "../../app/cells/account-moves.ts";
import type { Audit } from "../../app/operations/audit.ts";
import type { OperatorActionLog } from "../../app/operations/operator-actions.ts";
import { SealedBodies } from "../../domain/accounts/sealed-bodies.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { identityOf } from "../database/primary.ts";
import { openPool } from "../database/pool.ts";
import { sealingAudit } from "../operations/audit.ts";
import { PostgresOperatorActions } from "../operations/operator-actions.ts";
import { PostgresSealingKeys } from "../payments/sealing-keys.ts";
import type { Parts } from "../database/parts.ts";
import { PostgresAccountMoves } from "./account-moves.ts";

/** Sums of accounts: sealed ones and the entries since, as the audit adds them up. */
const FIGURES = `
  with total as (
    select holder, sum(amount) as amount from (
      select kind, holder, amount from audit_sum
      union all select * from audit_sums((select max(up_to) from audit_seal), null)
    ) part where kind = 'account' group by holder
  )
  select (select max(version) from schema_version) as schema,
    current_setting('server_version') as postgres,
    (select count(distinct application_name)::integer from pg_stat_activity
      where datname = current_database() and application_name ~ '^toolgate [0-9a-f-]{36}$') as gateways,
    (select count(*)::integer from pg_stat_replication) as standbys,
    (select count(*)::integer from pg_stat_replication where sync_state in ('sync', 'quorum'))
      as "synchronousStandbys",
    (select (extract(epoch from max(replay_lag)) * 1000)::float8 from pg_stat_replication) as "lagMs",
    (select count(*)::integer from account where moved_to is null) as accounts,
    (select count(*)::integer from account where moved_to is not null) as moved,
    (select count(*)::integer from account
      where moved_to is not null and (available <> 0 or exists (
        select from account_move move where move.account_id = account.id and move.other_account is null)))
      as unfinished,
    (select coalesce(sum(total.amount), 0)::bigint from total join account on uuid_send(account.id) = holder)
      as liabilities,
    (select coalesce(sum(expected), 0)::bigint from treasury_watch) as expected,
    (select coalesce(sum(amount), 0)::bigint from total where holder = uuid_send($1::uuid)) as clearing`;

export class PostgresCellReports implements CellReports {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async figures(): Promise<CellFigures> {
    const [row] = await queryWithRetry<Omit<CellFigures, "lagMs"> & { lagMs: number | null }>(this.#pool, {
      text: FIGURES,
      values: [SYSTEM_ACCOUNTS.clearing],
    });
    if (!row) throw new Error("the figures were not found");
    return { ...row, lagMs: row.lagMs ?? undefined };
  }

  arrivals(): Promise<MoveSide[]> {
    return this.#sides("in");
  }

  departures(): Promise<MoveSide[]> {
    return this.#sides("out");
  }

  async returned(): Promise<string[]> {
    const rows = await queryWithRetry<{ id: string }>(this.#pool, {
      text: `select id from account where moved_to is null
               and id in (select account_id from account_move union select other_account from account_move)`,
    });
    return rows.map(({ id }) => idFromUuid("acct", id));
  }

  async treasuries(): Promise<{ tokenAccount: string; expected: bigint }[]> {
    const rows = await queryWithRetry<{ token_account: Buffer; expected: bigint }>(this.#pool, {
      text: "select token_account, expected from treasury_watch",
    });
    return rows.map(({ token_account, expected }) => ({
      tokenAccount: base58.encode(token_account),
      expected,
    }));
  }

  /** What was booked, and not only what was noted. */
  async #sides(direction: "in" | "out"): Promise<MoveSide[]> {
    const rows = await queryWithRetry<{
      id: string;
      account_id: string;
      other_cell: number;
      amount: bigint;
      moved_at: Date;
    }>(this.#pool, {
      text: `select move.id, move.account_id, move.other_cell, move.moved_at,
               coalesce(case when (entry.debit = $2) = (move.direction = 'in') then entry.amount
                 else -entry.amount end, 0) as amount
             from account_move move
             left join transfer entry on entry.kind = 'clearing' and entry.ref = uuid_send(move.id)
             where move.direction = $1`,
      values: [direction, SYSTEM_ACCOUNTS.clearing],
    });
    return rows.map((row) => ({
      reference: row.id,
      accountId: idFromUuid("acct", row.account_id),
      otherCell: row.other_cell,
      amount: row.amount,
      movedAt: row.moved_at,
    }));
  }
}

export interface OpenCell {
  readonly number: number;
  readonly moves: AccountMoves;
  readonly routes: Routes;
  readonly reports: CellReports;
  /** Checks the cell's own ledger. */
  readonly audit: Audit;
  readonly actions: OperatorActionLog;
}

export interface OpenCellsOptions extends Pick<Parts, "clock" | "random" | "log"> {
  readonly urls: ReadonlyMap<number, string>;
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

/** Names of a cell that a router cannot send by themselves. */
interface Routes {
  /** Wallets of accounts that are here, with the account's id, which begins with its time. */
  wallets(): Promise<{ readonly wallet: string; readonly id: string }[]>;
  /** SHA-256 (hex) of keys that other cells issued and that work here. */
  movedKeys(): Promise<string[]>;
}

class PostgresRoutes implements Routes {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  wallets(): Promise<{ wallet: string; id: string }[]> {
    return queryWithRetry(this.#pool, { text: "select wallet, id from account where moved_to is null" });
  }

  async movedKeys(): Promise<string[]> {
    const rows = await queryWithRetry<{ hash: string }>(this.#pool, {
      text: `select encode(key.sha256, 'hex') as hash
             from api_key key join account on account.id = key.account_id
             where key.issued_by is not null and key.revoked_at is null and account.moved_to is null`,
    });
    return rows.map(({ hash }) => hash);
  }
}
