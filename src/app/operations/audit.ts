import type { Clock } from "../../domain/core/clock.ts";

/** Result of one audit check. */
export interface AuditFinding {
  name: string;
  /** The invariant in words. */
  description: string;
  /** Number of records checked. */
  checked: bigint;
  /** Number of records that violate it. */
  violations: bigint;
}

/**
 * Checks every ledger invariant against the whole database without locks. A million transfers take seconds.
 * @throws the signal's reason when it aborts, after the query was cancelled
 */
export type Audit = (signal?: AbortSignal) => Promise<AuditFinding[]>;

/** An audit with its last result. */
export interface CachedAudit {
  readonly audit: Audit;
  /** Undefined before the first audit ends. */
  readonly last: () => LastAudit | undefined;
}

/** Caches the result of an audit. */
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

export interface LastAudit {
  /** End of the audit. */
  at: Date;
  findings: readonly AuditFinding[];
}
