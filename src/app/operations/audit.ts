import type { Clock } from "../../domain/core/clock.ts";

export interface AuditFinding {
  name: string;
  /** The invariant in words. */
  description: string;
  checked: bigint;
  /** Number of records that violate it. */
  violations: bigint;
}

/** What an audit reads: what changed since the last clean one, or all history. */
export interface AuditScope {
  readonly whole?: boolean;
}

/**
 * Checks the ledger invariants without locks. All of a million transfers take seconds.
 * @throws the signal's reason when it aborts, after the query was cancelled
 */
export type Audit = (signal?: AbortSignal, scope?: AuditScope) => Promise<AuditFinding[]>;

export interface CachedAudit {
  readonly audit: Audit;
  /** Undefined before the first audit ends. */
  readonly last: () => LastAudit | undefined;
}

export function cachedAudit(audit: Audit, clock: Clock): CachedAudit {
  let found: LastAudit | undefined;
  return {
    audit: async (signal, scope) => {
      const findings = await audit(signal, scope);
      found = { at: new Date(clock.now()), findings };
      return findings;
    },
    last: () => found,
  };
}

export interface LastAudit {
  at: Date;
  findings: readonly AuditFinding[];
}
