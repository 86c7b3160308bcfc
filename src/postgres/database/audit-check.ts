/**
 * One invariant. `sql` returns one row per checked item, with a boolean column `wrong`. Checks join whole
 * tables: row-by-row lookups would take hours on a large ledger.
 */
export interface AuditCheck {
  name: string;
  description: string;
  sql: string;
}
