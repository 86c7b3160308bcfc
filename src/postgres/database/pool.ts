import { Pool, TypeOverrides, type PoolClient, type QueryResult } from "pg";
import type { Metrics } from "../../app/operations/metrics.ts";
import { isReadOnly } from "./database-errors.ts";
import { primaryOf, serverOf } from "./server.ts";
import { retries, RETRY_MS, withRetry } from "./retry.ts";

interface PoolOptions {
  max: number;
  /** Shown in pg_stat_activity. */
  applicationName: string;
}

/** Statement timeout, ms. Ledger statements take a few; slower ones are stuck. */
const STATEMENT_TIMEOUT_MS = 10_000;

/** Lock timeout, ms: a session that holds a lock longer is stuck and must not block others. */
const LOCK_TIMEOUT_MS = 1_000;

const INT8 = 20;

/**
 * Opens a pool that returns bigint columns as bigint. Drops connections that break while idle, and all when a
 * write meets a read-only server; the next query opens another.
 */
export function openPool(url: string, options: PoolOptions): Pool {
  const types = new TypeOverrides();
  types.setTypeParser(INT8, BigInt);
  const pool = new Pool({
    ...serverOf(url),
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
  // An unhandled error event would end the process.
  pool.on("error", () => {});
  // The other connections lead to the same server.
  pool.on("release", (error) => {
    if (isReadOnly(error)) primaryOf(url).drop("the server accepts no writes");
  });
  return pool;
}

/** Runs a statement that may take hours, where none has a statement timeout. */
export function longQuery<Row extends object>(
  client: Pick<Pool, "query">,
  text: string,
  values: readonly unknown[] = [],
): Promise<QueryResult<Row>> {
  const query = { text, values: [...values], query_timeout: 86_400_000 };
  return client.query<Row>(query);
}

/** Values of synchronous_commit that lose answered calls, and what to do. */
const UNSAFE_COMMITS: ReadonlyMap<string, string> = new Map([
  [
    "off",
    "the database runs with synchronous_commit=off and can lose answered calls on a crash; set " +
      "synchronous_commit=on",
  ],
  [
    "local",
    "the database runs with synchronous_commit=local and can lose answered calls at a failover; " +
      "set synchronous_commit=on",
  ],
]);

/** Checks that committed data survives a power failure. @returns problems with advice; empty when durable */
export async function checkDurability(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ fsync: string; commit: string; pages: string }>(
    `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
      current_setting('full_page_writes') as pages`,
  );
  const problems: string[] = [];
  if (rows[0]?.fsync !== "on")
    problems.push(
      "the database runs with fsync=off and can lose money on a power cut; set fsync=on in postgresql.conf",
    );
  const commit = UNSAFE_COMMITS.get(rows[0]?.commit ?? "");
  if (commit !== undefined) problems.push(commit);
  if (rows[0]?.pages !== "on")
    problems.push(
      "the database runs with full_page_writes=off and can be damaged by a power cut; set " +
        "full_page_writes=on",
    );
  return problems;
}

/** Reports the pool's connections and the repeated statements whenever Prometheus asks. */
export function reportPool(pool: Pool, metrics: Metrics): void {
  let counted = retries();
  metrics.set("toolgate_database_connections_limit", pool.options.max);
  metrics.onScrape(() => {
    const { totalCount, idleCount, waitingCount } = pool;
    metrics.set("toolgate_database_connections", totalCount - idleCount, { state: "used" });
    metrics.set("toolgate_database_connections", idleCount, { state: "idle" });
    metrics.set("toolgate_database_waiting", waitingCount);
    const now = retries();
    metrics.count("toolgate_database_retries_total", now - counted);
    counted = now;
  });
}

/**
 * The locks precede the snapshot: no month leaves the tables later, where the snapshot would not see that it
 * is archived.
 */
export const BEGIN_SNAPSHOT =
  "begin isolation level repeatable read read only; lock table run, receipt in access share mode";

/**
 * Runs several reads on one snapshot, without locks.
 * @throws ToolgateError UNAVAILABLE when the database is unreachable; any error of `read`
 */
export async function inSnapshot<Result>(
  pool: Pool,
  read: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  return withRetry(RETRY_MS, () => inTransaction(pool, read, { begin: BEGIN_SNAPSHOT }));
}

/** Runs statements in a transaction. A connection in an unknown state is not reused. */
export async function inTransaction<Result>(
  pool: Pool,
  run: (client: PoolClient) => Promise<Result>,
  { begin = "begin", end = "commit" }: { begin?: string; end?: "commit" | "rollback" } = {},
): Promise<Result> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query(begin);
    const result = await run(client);
    await client.query(end);
    return result;
  } catch (error) {
    await client.query("rollback").catch((cause: Error) => (broken = cause));
    throw error;
  } finally {
    client.release(broken);
  }
}
