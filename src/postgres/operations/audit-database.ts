import type { Pool } from "pg";
import type { Audit, AuditFinding } from "../../app/operations/audit.ts";
import { openPool } from "../database/pool.ts";
import { RETRY_MS, withRetry } from "../database/retry.ts";
import { audit, auditSince, type AuditOptions } from "./audit.ts";
import { addSeal, settledTime } from "./seals.ts";

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
