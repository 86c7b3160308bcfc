/**
 * One invariant. `sql` returns one row per checked item, with a boolean column `wrong`. It reads the sources
 * of audit-sources.ts: whole tables, or what changed since the last seal. It joins them: row-by-row lookups
 * would take hours on a large ledger.
 */
export interface AuditCheck {
  name: string;
  description: string;
  sql: string;
  /** Left out of audits of what changed since the last seal. */
  wholeOnly?: boolean;
}

/** SQL of an account's sum in the source `total`. */
export function sumOf(account: string): string {
  return `(select coalesce(sum(amount), 0) from total
    where kind = 'account' and holder = uuid_send('${account}'::uuid))`;
}

/** Condition that the run with the id of those bytes is archived: its row and its receipt are in no table. */
export function isArchived(bytes: string): string {
  return `exists (select from archive_month where ${bytes} >= uuid_send(low) and ${bytes} < uuid_send(high))`;
}
