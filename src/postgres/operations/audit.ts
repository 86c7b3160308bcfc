import type { Pool, PoolClient } from "pg";
import type { AuditFinding, Audit } from "../../app/operations/audit.ts";
import type { AuditCheck } from "../database/audit-check.ts";
import { BEGIN_SNAPSHOT, openPool } from "../database/pool.ts";
import { RETRY_MS, withRetry } from "../database/retry.ts";
import { CHECKS } from "./audit-checks.ts";
import { SINCE_SEAL, WHOLE } from "./audit-sources.ts";
import { contentOf, lastSeal, type SealContent, addSeal, settledTime } from "./seals.ts";

/** Query timeout, ms: large ledgers take long. */
const DAY_MS = 86_400_000;
/**
 * All checks share one snapshot. Nested loops are off because stale statistics can underestimate tables by
 * orders of magnitude; every check can use hash joins.
 */
const BEGIN_AUDIT = `
  ${BEGIN_SNAPSHOT};
  set local statement_timeout = 0;
  set local idle_in_transaction_session_timeout = 0;
  set local enable_nestloop = off;
  set local work_mem = '32MB'`;

interface AuditOptions {
  readonly signal?: AbortSignal | undefined;
  readonly whole?: boolean | undefined;
  /** End of what can be sealed if the audit finds no violation (seals.ts). */
  readonly upTo?: string | undefined;
}

interface Audited {
  readonly findings: AuditFinding[];
  /** What to seal; undefined after a violation and without `upTo`. */
  readonly content: SealContent | undefined;
}

/**
 * Checks every ledger invariant on all history, without locks.
 * @throws the signal's reason when aborted, after cancelling the database query
 */
export async function audit(pool: Pool, signal?: AbortSignal): Promise<AuditFinding[]> {
  return (await auditSince(pool, { signal, whole: true })).findings;
}

/**
 * Checks the ledger invariants on one snapshot, without locks, on what changed since the last seal; without a
 * seal on all history.
 * @throws the signal's reason when aborted, after cancelling the database query
 */
export async function auditSince(pool: Pool, options: AuditOptions): Promise<Audited> {
  const { signal } = options;
  const client = await pool.connect();
  try {
    await client.query(BEGIN_AUDIT);
    const cancel = await canceller(pool, client);
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      return await audited(client, options);
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  } finally {
    await client.query("rollback").catch(() => {});
    // A late cancellation must not hit the next query of this connection.
    client.release(signal?.aborted);
  }
}

async function audited(client: PoolClient, { signal, whole = false, upTo }: AuditOptions): Promise<Audited> {
  signal?.throwIfAborted();
  const seal = await lastSeal(client);
  const findings =
    whole || seal === undefined
      ? await wholeFindings(client, signal)
      : await findingsSince(client, [seal.upTo, seal.firstRun]);
  const clean = findings.every(({ violations }) => violations === 0n);
  const content =
    clean && upTo !== undefined
      ? await contentOf(client, { seal, upTo, whole: whole || seal === undefined })
      : undefined;
  return { findings, content };
}

async function wholeFindings(client: PoolClient, signal: AbortSignal | undefined): Promise<AuditFinding[]> {
  const found: AuditFinding[] = [];
  for (const check of CHECKS) {
    signal?.throwIfAborted();
    const query = { text: wholeText(check), query_timeout: DAY_MS };
    const { rows } = await client.query<Omit<AuditFinding, "description">>(query);
    found.push(...describe(rows));
  }
  return found;
}

/** One statement, so that each source is read once. Sources find old rows by their keys. */
async function findingsSince(client: PoolClient, values: unknown[]): Promise<AuditFinding[]> {
  await client.query("set local enable_seqscan = off; set local jit = off");
  const query = { text: sinceSealText(CHECKS), values, query_timeout: DAY_MS };
  const { rows } = await client.query<Omit<AuditFinding, "description">>(query);
  return describe(rows);
}

/** SQL that runs a check on all history. */
export function wholeText(check: AuditCheck): string {
  return `${WHOLE} ${countOf(check)}`;
}

/** SQL that runs checks since the seal of time $1, whose first run was $2. */
export function sinceSealText(checks: readonly AuditCheck[]): string {
  const parts = checks.filter(({ wholeOnly }) => !wholeOnly).map((check) => countOf(check));
  return `${SINCE_SEAL} ${parts.join("\nunion all ")}`;
}

function countOf({ name, sql }: AuditCheck): string {
  return `select '${name}' as name, count(*) as checked, count(*) filter (where wrong) as violations
    from (${sql}) looked`;
}

function describe(rows: readonly Omit<AuditFinding, "description">[]): AuditFinding[] {
  const descriptions = new Map(CHECKS.map(({ name, description }) => [name, description]));
  return rows.map((row) => ({ ...row, description: descriptions.get(row.name) ?? "" }));
}

/** Returns a function that cancels the client's current query. */
async function canceller(pool: Pool, client: PoolClient): Promise<() => void> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return () => {
    pool.query("select pg_cancel_backend($1)", [rows[0]?.pid]).catch(() => {});
  };
}

const CONNECTIONS = 2;

/**
 * Audits all history on connections of its own, so that no call waits for it. Stores no seal.
 * @throws ToolgateError UNAVAILABLE when the database is unreachable or a table stays locked
 */
export async function auditDatabase(url: string, signal?: AbortSignal): Promise<AuditFinding[]> {
  return withPool(url, (pool) => withRetry(RETRY_MS, () => audit(pool, signal)));
}

/**
 * Audits what changed since the last seal, or all history, and seals it if there is no violation. Reads from
 * `readUrl`, which may be a standby.
 * @throws ToolgateError UNAVAILABLE when the database is unreachable or a table stays locked
 */
export async function auditAndSeal(
  urls: { readonly url: string; readonly readUrl: string },
  options: Omit<AuditOptions, "upTo">,
): Promise<AuditFinding[]> {
  return withPool(urls.url, async (primary) => {
    const upTo = await withRetry(RETRY_MS, () => settledTime(primary));
    const read = (pool: Pool) => withRetry(RETRY_MS, () => auditSince(pool, { ...options, upTo }));
    const { findings, content } =
      urls.readUrl === urls.url ? await read(primary) : await withPool(urls.readUrl, read);
    if (content) await addSeal(primary, content);
    return findings;
  });
}

/** @param reads says where to read at the time of an audit */
export function sealingAudit(url: string, reads: { readonly url: string }): Audit {
  return (signal, { whole } = {}) => auditAndSeal({ url, readUrl: reads.url }, { signal, whole });
}

async function withPool<Result>(url: string, work: (pool: Pool) => Promise<Result>): Promise<Result> {
  const pool = openPool(url, { max: CONNECTIONS, applicationName: "toolgate audit" });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}
