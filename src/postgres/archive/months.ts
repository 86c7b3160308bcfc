import type { Pool } from "pg";
import {
  type ArchivedRow,
  type ArchivedTable,
  type Column,
  ARCHIVED_TABLES,
  type TableSource,
  type ArchivedMonth,
  type MonthStore,
  type Totals,
  type VerifiedMonth,
} from "../../app/operations/archive/month-archive.ts";
import { boundsOfMonth, type Month } from "../../domain/core/month.ts";
import { longQuery } from "../database/pool.ts";
import { dropMonth, attachMonth, freezeMonth, thawMonth } from "./change-partitions.ts";
import {
  columnsOf,
  partitionOf,
  RECEIPT_ID,
  rowsOf,
  totalsOf,
  openArchivePool,
  withArchiveLock,
} from "./month-tables.ts";
import { requireSealed, requireUnchanged } from "./unchanged.ts";

/** Months of runs and receipts on PostgreSQL, for commands of the tables' owner. */
export class PostgresMonths implements MonthStore {
  readonly #pool: Pool;

  constructor(url: string) {
    this.#pool = openArchivePool(url);
  }

  exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    return withArchiveLock(this.#pool, work);
  }

  async present(): Promise<Month[]> {
    const { rows } = await this.#pool.query<{ month: string }>(
      `select replace(substr(relid::regclass::text, 5), '_', '-') as month
       from pg_partition_tree('run') where relid::regclass::text ~ '^run_\\d{4}_\\d{2}$' order by 1`,
    );
    return rows.map(({ month }) => month);
  }

  async archived(): Promise<ArchivedMonth[]> {
    const { rows } = await this.#pool.query<ArchivedMonth>(
      `select to_char(month, 'YYYY-MM') as month, encode(manifest, 'hex') as manifest, runs, receipts,
         charged, archived_at as "archivedAt"
       from archive_month order by archive_month.month`,
    );
    return rows;
  }

  obstacles(month: Month): Promise<string[]> {
    return obstaclesOf(this.#pool, month, idsOf(month));
  }

  freeze(month: Month): Promise<void> {
    return freezeMonth(this.#pool, month);
  }

  thaw(month: Month): Promise<void> {
    return thawMonth(this.#pool, month);
  }

  async table(month: Month, table: ArchivedTable): Promise<TableSource> {
    const columns = await columnsOf(this.#pool, table);
    return { columns, rows: () => rowsOf(this.#pool, month, table, columns) };
  }

  totals(month: Month): Promise<ReadonlyMap<string, Totals>> {
    return totalsOf(this.#pool, month);
  }

  async archivedTotals(month: Month): Promise<ReadonlyMap<string, Totals>> {
    const { rows } = await longQuery<Totals & { account: string }>(
      this.#pool,
      `select account_id as account, sum(runs)::bigint as runs, sum(receipts)::bigint as receipts,
         sum(charged)::bigint as charged
       from archive_use where month = ($1 || '-01')::date group by 1`,
      [month],
    );
    return new Map(rows.map(({ account, ...totals }) => [account, totals]));
  }

  requireUnchanged(): Promise<void> {
    return requireUnchanged(this.#pool);
  }

  requireSealed(month: Month): Promise<void> {
    return requireSealed(this.#pool, month);
  }

  drop(month: VerifiedMonth): Promise<void> {
    return dropMonth(this.#pool, month, idsOf(month.month));
  }

  async prepare(month: Month): Promise<void> {
    for (const table of ARCHIVED_TABLES) {
      const part = partitionOf(table, month);
      await this.#pool.query(`drop table if exists ${part}`);
      await this.#pool.query(`create table ${part} (like ${table} including all)`);
    }
  }

  async fill(
    month: Month,
    table: ArchivedTable,
    columns: readonly Column[],
    rows: readonly ArchivedRow[],
  ): Promise<void> {
    const names = columns
      .map(({ name }) => name)
      .filter((name) => table !== "run" || name !== RECEIPT_ID.name)
      .join(", ");
    await longQuery(
      this.#pool,
      `insert into ${partitionOf(table, month)} (${names})
       select ${names} from json_populate_recordset(null::${table}, $1)`,
      [JSON.stringify(rows)],
    );
  }

  attach(month: Month): Promise<void> {
    return attachMonth(this.#pool, month, idsOf(month));
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

/** The ids of a month's runs: from the first and below the second (partition_bound). */
function idsOf(month: Month): [low: string, high: string] {
  const { start, end } = boundsOfMonth(month);
  return [uuidAt(start), uuidAt(end)];
}

function uuidAt(ms: number): string {
  const hex = ms.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** One obstacle a row, with the number of what is in the way; $1 and $2 bound the ids of the month's runs. */
const obstaclesSql = (run: string, receipt: string) => /* sql */ `
  select count(*) as count, 'runs have not ended: a running gateway releases those of a dead one' as why
  from ${run} where status = 'active'
  union all
  select count(*), 'rows lie in the default partition: start a gateway of this version, or run migrate'
  from (select from run_default where id >= $1 and id < $2
    union all select from receipt_default where run_id >= $1 and run_id < $2) stray
  union all
  select count(*), 'answers are stored for idempotency keys that are valid until ' || max(expires_at)
  from idempotency where expires_at >= now() and expires_at < 'infinity' and run_id >= $1 and run_id < $2
  union all
  select count(*), 'executions of code can still be asked for; a running gateway deletes them'
  from sandbox_run where run_id >= $1 and run_id < $2
  union all
  select count(*), 'payments of the month are not final on their network'
  from payment where not finalized and not reversed and exists (
    select from ${receipt} receipt
    where receipt.network = payment.network and receipt.reference = payment.reference)
  union all
  select count(*), 'receipts or runs are not sealed: run toolgate audit, which has to find no violation'
  from (
    select from ${receipt} receipt
    where id >= coalesce((select audit_bound(max(up_to)) from audit_seal),
      '00000000-0000-0000-0000-000000000000')
    union all
    select from (select first_run from audit_seal order by number desc limit 1) last
    where first_run < $2
  ) unsealed
  union all
  select count(*), 'month''s usage is not counted to its end: a running gateway counts it within minutes'
  from usage_mark
  where case when counted_to = '-infinity' then true else partition_bound(counted_to) < $2 end`;

/** Why a month has to stay in the tables. */
async function obstaclesOf(
  pool: Pool,
  month: Month,
  [low, high]: readonly [string, string],
): Promise<string[]> {
  const { rows } = await longQuery<{ count: bigint; why: string }>(
    pool,
    obstaclesSql(partitionOf("run", month), partitionOf("receipt", month)),
    [low, high],
  );
  return rows.filter(({ count }) => count > 0n).map(({ count, why }) => `${count} ${why}`);
}
