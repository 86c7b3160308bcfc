import type { Pool, PoolClient } from "pg";
import type { AuditFinding } from "../app/audit.ts";
import { CHECKS } from "./audit-checks.ts";
import { openPool } from "./pool.ts";
import { RETRY_MS, withRetry } from "./retry.ts";

/** A check may take as long as a large ledger needs. */
const DAY_MS = 86_400_000;
/**
 * How the checks run: all on one snapshot, however long they take. Statistics of a young ledger promise a row where there are a million;
 * nested loops over those would never end, and every join of the checks can be hashed.
 */
const BEGIN_AUDIT = `
  begin isolation level repeatable read read only;
  set local statement_timeout = 0;
  set local idle_in_transaction_session_timeout = 0;
  set local enable_nestloop = off;
  set local work_mem = '32MB'`;

/**
 * Audits on connections of its own, so that no call waits for one: see {@link audit}.
 * @throws ToolgateError UNAVAILABLE when the database is away, or a table is locked for long
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
 * Checks every invariant of the ledger against the whole database, on one snapshot, without locking anything.
 * @throws the signal's reason, when it aborts; nothing goes on in the database then
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
    // A cancellation may come late, and must not meet another's query.
    client.release(signal?.aborted);
  }
}

async function lines(client: PoolClient, signal: AbortSignal | undefined): Promise<AuditFinding[]> {
  const found: AuditFinding[] = [];
  for (const { name, description, sql } of CHECKS) {
    signal?.throwIfAborted();
    const text = `select count(*) as checked, count(*) filter (where wrong) as violations from (${sql}) looked`;
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

/** What ends the client's query in the database. */
async function canceller(pool: Pool, client: PoolClient): Promise<() => void> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return () => {
    pool.query("select pg_cancel_backend($1)", [rows[0]?.pid]).catch(() => {});
  };
}
