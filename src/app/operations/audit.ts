import type { Clock } from "../../domain/core/clock.ts";

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

/** An audit, and what it found last, whoever asked for it. */
export interface CachedAudit {
  readonly audit: Audit;
  /** Undefined until one has ended. */
  readonly last: () => LastAudit | undefined;
}

/** Remembers what an audit finds. */
export function cachedAudit(audit: Audit, clock: Clock): CachedAudit {
  let found: LastAudit | undefined;
  return {
    audit: async (signal) => {
      const findings = await audit(signal);
      found = { at: new Date(clock.now()), findings };
      return findings;
    },
    last: () => found,
  };
}

/** What an audit found. */
export interface LastAudit {
  /** When it ended. */
  at: Date;
  findings: readonly AuditFinding[];
}
