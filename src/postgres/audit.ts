import type { Pool } from "pg";
import { CHECKS } from "./audit-checks.ts";

/** What one check found. */
export interface AuditLine {
  name: string;
  /** What should hold, in words. */
  description: string;
  /** How many things were looked at. */
  checked: bigint;
  /** How many of them were wrong. */
  violations: bigint;
}

/** A check may take as long as a large ledger needs. */
const DAY_MS = 86_400_000;

/** Checks every invariant of the ledger against the whole database, on one snapshot, without locking anything. */
export async function audit(pool: Pool): Promise<AuditLine[]> {
  const client = await pool.connect();
  try {
    await client.query("begin isolation level repeatable read read only");
    await client.query("set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0");
    const lines: AuditLine[] = [];
    for (const { name, description, sql } of CHECKS) {
      const text = `select count(*) as checked, count(*) filter (where wrong) as violations from (${sql}) looked`;
      const query = { text, query_timeout: DAY_MS };
      const { rows } = await client.query<{ checked: bigint; violations: bigint }>(query);
      lines.push({ name, description, checked: rows[0]?.checked ?? 0n, violations: rows[0]?.violations ?? 0n });
    }
    return lines;
  } finally {
    await client.query("rollback").catch(() => {});
    client.release();
  }
}
