import type { Pool } from "pg";
import { ToolgateError } from "../../domain/core/errors.ts";
import { longQuery, openPool } from "../database/pool.ts";
import type {
  ArchivedRow,
  ArchivedTable,
  Column,
  ColumnType,
  RowBatches,
  Totals,
} from "../../app/operations/archive/month-archive.ts";
import { type Month, parseMonth } from "../../domain/core/month.ts";
import { BEFORE_ALL_ENTRIES } from "../database/entry-ids.ts";

const LOCK = "hashtextextended('archive', 0)";

/** Texts of values are the same in every session. */
const SESSION = `
  set statement_timeout = 0; set idle_in_transaction_session_timeout = 0;
  set timezone = 'UTC'; set datestyle = 'ISO'; set bytea_output = 'hex'`;

/** Opens the connections of a command that archives or restores. They belong to the tables' owner. */
export function openArchivePool(url: string): Pool {
  const pool = openPool(url, { max: 3, applicationName: "toolgate archive" });
  pool.on("connect", (client) => void client.query(SESSION).catch(() => {}));
  return pool;
}

/**
 * Runs the work while no other session holds this lock.
 * @throws ToolgateError UNAVAILABLE while another one does
 */
export async function withArchiveLock<Result>(pool: Pool, work: () => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  let locked = false;
  try {
    const { rows } = await client.query<{ locked: boolean }>(
      `select pg_try_advisory_lock(${LOCK}) as locked`,
    );
    locked = rows[0]?.locked ?? false;
    if (!locked)
      throw new ToolgateError(
        "UNAVAILABLE",
        "another command archives or restores a month; wait for its end",
      );
    return await work();
  } finally {
    if (locked) await client.query(`select pg_advisory_unlock(${LOCK})`).catch(() => {});
    client.release();
  }
}

const BATCH = 5_000;

const TYPES: Readonly<Record<string, ColumnType>> = {
  uuid: "uuid",
  text: "text",
  integer: "integer",
  bigint: "bigint",
  "timestamp with time zone": "timestamp",
  bytea: "bytes",
};

/** A run's file also names its receipt, which is found by that. */
export const RECEIPT_ID: Column = { name: "receipt_id", type: "uuid" };

/** Returns the name of a month's partition, for SQL texts. @throws Error for a text that is no month */
export function partitionOf(table: ArchivedTable, month: Month): string {
  if (parseMonth(month) === undefined) throw new Error(`not a month: ${month}`);
  return `${table}_${month.replace("-", "_")}`;
}

/** @throws Error for a column of a type that no file can hold */
export async function columnsOf(pool: Pool, table: ArchivedTable): Promise<Column[]> {
  const { rows } = await pool.query<{ name: string; type: string }>(
    `select attname as name, coalesce(nullif(typbasetype, 0), pg_type.oid)::regtype::text as type
     from pg_attribute join pg_type on pg_type.oid = atttypid
     where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [`public.${table}`],
  );
  const columns = rows.map(({ name, type }) => {
    const stored = TYPES[type];
    if (stored === undefined) throw new Error(`cannot archive the column ${table}.${name} of type ${type}`);
    return { name, type: stored };
  });
  return table === "run" ? [...columns, RECEIPT_ID] : columns;
}

/** The rows of a month by account and id, after those of $1 and $2. */
export function pageOfMonth(month: Month, table: ArchivedTable, columns: readonly Column[]): string {
  const texts = columns.map(({ name }) =>
    name === RECEIPT_ID.name && table === "run"
      ? `(select receipt.id from ${partitionOf("receipt", month)} receipt
          where receipt.run_id = part.id)::text as receipt_id`
      : `part.${name}::text`,
  );
  // Unqualified, the order would be that of the texts, which no index has.
  return `select ${texts.join(", ")} from ${partitionOf(table, month)} part
    where (part.account_id, part.id) > ($1, $2) and part.account_id >= $1
    order by part.account_id, part.id limit ${BATCH}`;
}

/** The rows of a month by account and id. Attached or not, its tables have the same names. */
export async function* rowsOf(
  pool: Pool,
  month: Month,
  table: ArchivedTable,
  columns: readonly Column[],
): RowBatches {
  const text = pageOfMonth(month, table, columns);
  let last: unknown[] | undefined = [BEFORE_ALL_ENTRIES, BEFORE_ALL_ENTRIES];
  while (last !== undefined) {
    const rows: ArchivedRow[] = (await longQuery<ArchivedRow>(pool, text, last)).rows;
    if (rows.length > 0) yield rows;
    const end: ArchivedRow | undefined = rows.length === BATCH ? rows.at(-1) : undefined;
    last = end && [end["account_id"], end["id"]];
  }
}

/** What the calls of a month add up to, by account. */
export async function totalsOf(pool: Pool, month: Month): Promise<Map<string, Totals>> {
  const { rows } = await longQuery<Totals & { account_id: string }>(
    pool,
    `select account_id, sum(runs)::bigint as runs, sum(receipts)::bigint as receipts,
       sum(charged)::bigint as charged
     from (
       select account_id, count(*) as runs, 0 as receipts, 0 as charged
       from ${partitionOf("run", month)} group by 1
       union all
       select account_id, 0, count(*), sum(debited) from ${partitionOf("receipt", month)} group by 1
     ) part group by 1`,
  );
  return new Map(
    rows.map(({ account_id: account, runs, receipts, charged }) => [account, { runs, receipts, charged }]),
  );
}
