import type { Pool, PoolClient } from "pg";
import type { AuditFinding } from "../../app/operations/audit.ts";
import { CHECKS } from "./audit-checks.ts";
import { openPool } from "../database/pool.ts";
import { RETRY_MS, withRetry } from "../database/retry.ts";

/** Query timeout, ms: large ledgers take long. */
const DAY_MS = 86_400_000;
/**
 * All checks share one snapshot. Nested loops are off because stale statistics can underestimate tables by
 * orders of magnitude; every check can use hash joins.
 */
const BEGIN_AUDIT = `
  begin isolation level repeatable read read only;
  set local statement_timeout = 0;
  set local idle_in_transaction_session_timeout = 0;
  set local enable_nestloop = off;
  set local work_mem = '32MB'`;

/**
 * Runs {@link audit} on its own connections, so that no call waits for it.
 * @throws ToolgateError UNAVAILABLE when the database is unreachable or a table stays locked
 */
export async function auditDatabase(url: string, signal?: AbortSignal): Promise<AuditFinding[]> {
  const pool = openPool(url, { max: 2, applicationName: "toolgate audit" });
  try {
    return await withRetry(RETRY_MS, () => audit(pool, signal));
  } finally {
    await pool.end();
  }
}

/**
 * Checks every ledger invariant on one snapshot, without locks.
 * @throws the signal's reason when aborted, after cancelling the database query
 */
export async function audit(pool: Pool, signal?: AbortSignal): Promise<AuditFinding[]> {
  const client = await pool.connect();
  try {
    await client.query(BEGIN_AUDIT);
    const cancel = await canceller(pool, client);
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      return await lines(client, signal);
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  } finally {
    await client.query("rollback").catch(() => {});
    // A late cancellation must not hit the next query of this connection.
    client.release(signal?.aborted);
  }
}

async function lines(client: PoolClient, signal: AbortSignal | undefined): Promise<AuditFinding[]> {
  const found: AuditFinding[] = [];
  for (const { name, description, sql } of CHECKS) {
    signal?.throwIfAborted();
    const text = `select count(*) as checked, count(*) filter (where wrong) as violations
    from (${sql}) looked`;
    const query = { text, query_timeout: DAY_MS };
    const { rows } = await client
      .query<{ checked: bigint; violations: bigint }>(query)
      .catch((error: unknown) => {
        signal?.throwIfAborted();
        throw error;
      });
    found.push({ name, description, checked: rows[0]?.checked ?? 0n, violations: rows[0]?.violations ?? 0n });
  }
  return found;
}

/** Returns a function that cancels the client's current query. */
async function canceller(pool: Pool, client: PoolClient): Promise<() => void> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return () => {
    pool.query("select pg_cancel_backend($1)", [rows[0]?.pid]).catch(() => {});
  };
}
