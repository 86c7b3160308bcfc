import type { Clock } from "../../domain/core/clock.ts";
import type { Audit } from "../operations/audit.ts";
import type { Metrics } from "../operations/metrics.ts";
import type { Log } from "../../domain/core/log.ts";

export interface AuditDeps {
  readonly audit: Audit;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Audits the ledger once and logs every violated invariant. */
export async function runAudit(
  { audit, clock, metrics, log }: AuditDeps,
  signal: AbortSignal,
): Promise<void> {
  const findings = await audit(signal);
  signal.throwIfAborted();
  for (const { name, description, violations } of findings) {
    metrics.set("toolgate_audit_violations", Number(violations), { invariant: name });
    if (violations > 0n) {
      log.error(
        { invariant: name, violations: Number(violations) },
        `the audit found a violation: ${description}`,
      );
    }
  }
  metrics.set("toolgate_audit_timestamp_seconds", Math.floor(clock.now() / 1_000));
}
