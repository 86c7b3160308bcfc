import type { Pool, QueryResult } from "pg";
import { ToolgateError } from "../../domain/core/errors.ts";
import { openPool } from "../database/pool.ts";

const DAY_MS = 86_400_000;

const LOCK = "hashtextextended('archive', 0)";

/** Texts of values are the same in every session. */
const SESSION = `
  set statement_timeout = 0; set idle_in_transaction_session_timeout = 0;
  set timezone = 'UTC'; set datestyle = 'ISO'; set bytea_output = 'hex'; set jit = off`;

/** Opens the connections of a command that archives or restores. They belong to the tables' owner. */
export function openArchivePool(url: string): Pool {
  const pool = openPool(url, { max: 3, applicationName: "toolgate archive" });
  pool.on("connect", (client) => void client.query(SESSION).catch(() => {}));
  return pool;
}

/** Runs a query that may take long. */
export function longQuery<Row extends object>(
  client: Pick<Pool, "query">,
  text: string,
  values: unknown[] = [],
): Promise<QueryResult<Row>> {
  const query = { text, values, query_timeout: DAY_MS };
  return client.query<Row>(query);
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
