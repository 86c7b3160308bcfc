import { Pool, TypeOverrides } from "pg";

/** How the connections of an instance are made. */
export interface PoolOptions {
  /** Connections at most. */
  max: number;
  /** Shown in pg_stat_activity. */
  applicationName: string;
}

/** Longest time a statement may take, ms. Those of the ledger take a few; what is slower is stuck. */
const STATEMENT_TIMEOUT_MS = 10_000;

/** Longest time a statement may wait for a lock, ms: whoever holds one for longer is stuck, and must not hold up the others. */
const LOCK_TIMEOUT_MS = 1_000;

const INT8 = 20;

/**
 * Opens a pool on which `bigint` columns are bigints.
 * A connection that breaks while idle is dropped silently: the next query opens another.
 */
export function openPool(url: string, options: PoolOptions): Pool {
  const types = new TypeOverrides();
  types.setTypeParser(INT8, BigInt);
  const pool = new Pool({
    connectionString: url,
    max: options.max,
    application_name: options.applicationName,
    connectionTimeoutMillis: 5_000,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: STATEMENT_TIMEOUT_MS + 5_000,
    lock_timeout: LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
    keepAlive: true,
    types,
  });
  // Unheard errors would end the process. Whoever uses the connection hears of it from its query.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

/**
 * Whether what the database has committed survives a power cut.
 * @returns what is wrong, and what to do about it; empty when all is well
 */
export async function checkDurability(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ fsync: string; commit: string; pages: string }>(
    "select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit, current_setting('full_page_writes') as pages",
  );
  const problems: string[] = [];
  if (rows[0]?.fsync !== "on")
    problems.push(
      "the database runs with fsync=off and can lose money on a power cut; set fsync=on in postgresql.conf",
    );
  if (rows[0]?.commit === "off") {
    problems.push(
      "the database runs with synchronous_commit=off and can lose answered calls on a crash; set synchronous_commit=on",
    );
  }
  if (rows[0]?.pages !== "on")
    problems.push(
      "the database runs with full_page_writes=off and can be damaged by a power cut; set full_page_writes=on",
    );
  return problems;
}
