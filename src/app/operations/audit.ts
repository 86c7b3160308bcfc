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

/** What an audit found clean and closed. */
export interface Seal {
  /** From 1. */
  readonly number: number;
  /** Timestamp: its entries are older. */
  readonly upTo: string;
  /** SHA-256 in hex of its entries and of the hash of the seal before. */
  readonly hash: string;
}

export interface LastFullAudit {
  /** When the oldest of its checks ran. */
  readonly at: Date;
  /** By check. */
  readonly violations: Readonly<Record<string, number>>;
}

/** The audit of all history in slices, each a transaction. Any instance continues it. */
export interface FullAudit {
  /**
   * Runs the next slice. Undefined: none is due; a check is due a week after it ran.
   * @throws the signal's reason when it aborts, after the query was cancelled
   */
  next(signal: AbortSignal): Promise<AuditFinding | undefined>;
  /** Undefined: no check has run. */
  last(): Promise<LastFullAudit | undefined>;
}

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
