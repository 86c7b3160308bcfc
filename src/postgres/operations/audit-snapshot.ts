import type { Pool, PoolClient } from "pg";
import { BEGIN_SNAPSHOT, inTransaction, openPool } from "../database/pool.ts";

/**
 * One snapshot. Nested loops are off because stale statistics can underestimate tables by orders of
 * magnitude; every check can use hash joins.
 */
const BEGIN_AUDIT = `
  ${BEGIN_SNAPSHOT};
  set local statement_timeout = 0;
  set local idle_in_transaction_session_timeout = 0;
  set local enable_nestloop = off;
  set local jit = off;
  set local work_mem = '32MB'`;

/**
 * Runs the work on one snapshot, without locks.
 * @throws the signal's reason when aborted, after cancelling the database query
 */
export function onSnapshot<Result>(
  pool: Pool,
  signal: AbortSignal | undefined,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const cancellable = async (client: PoolClient): Promise<Result> => {
    const cancel = await canceller(pool, client);
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      signal?.throwIfAborted();
      return await work(client);
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  };
  return inTransaction(pool, cancellable, { begin: BEGIN_AUDIT, end: "rollback" });
}

/** Returns a function that cancels the client's current query. */
async function canceller(pool: Pool, client: PoolClient): Promise<() => void> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return () => {
    pool.query("select pg_cancel_backend($1)", [rows[0]?.pid]).catch(() => {});
  };
}

const CONNECTIONS = 2;

/** Connections of an audit's own, so that no call waits for it. */
export async function withAuditPool<Result>(
  url: string,
  work: (pool: Pool) => Promise<Result>,
): Promise<Result> {
  const pool = openPool(url, { max: CONNECTIONS, applicationName: "toolgate audit" });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}
