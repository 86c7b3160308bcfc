/** What one check of the audit found. */
export interface AuditFinding {
  name: string;
  /** What should hold, in words. */
  description: string;
  /** How many things were looked at. */
  checked: bigint;
  /** How many of them were wrong. */
  violations: bigint;
}

/**
 * Checks every invariant of the ledger against the whole database, without locking anything; a million transfers take seconds.
 * @throws the signal's reason, when it aborts; nothing goes on in the database then
 */
export type Audit = (signal?: AbortSignal) => Promise<AuditFinding[]>;
