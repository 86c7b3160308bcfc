import type { Clock } from "../../domain/core/clock.ts";
import type { Audit } from "../operations/audit.ts";
import type { Metrics } from "../operations/metrics.ts";
import { type Events, OPERATORS } from "../webhooks/webhook-endpoints.ts";
import type { Log } from "../../domain/core/log.ts";

export interface AuditDeps {
  readonly audit: Audit;
  readonly clock: Clock;
  readonly events: Pick<Events, "addDaily">;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Audits the ledger once and reports every violated invariant, to operators' webhooks once a day. */
export async function runAudit(
  { audit, clock, events, metrics, log }: AuditDeps,
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
  for (const { name, description, violations } of findings) {
    if (violations === 0n) continue;
    const data = { invariant: name, description, violations: Number(violations) };
    await events.addDaily(OPERATORS, "audit.violation", data, name);
  }
}
