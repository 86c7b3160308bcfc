import { AuditService } from "#gen/toolgate/v1/audit_service_pb.ts";
import type { Audit, AuditFinding } from "../../../app/operations/audit.ts";
import { ToolgateError } from "../../../domain/core/errors.ts";
import { bind, OPERATOR, type ServiceBinding } from "../../endpoint.ts";

/** Retry-After, seconds. */
const RETRY_S = 5;

/** The operator's ledger audit. One at a time per instance: each uses a whole CPU core. */
export function auditService(audit: Audit): ServiceBinding {
  let running = false;
  return bind(AuditService, OPERATOR, {
    async runAudit({ full }, { signal }) {
      if (running) throw inProgress();
      running = true;
      try {
        return auditMessage(await audit(signal, { whole: full }));
      } finally {
        running = false;
      }
    },
  });
}

function inProgress(): ToolgateError {
  return new ToolgateError("REQUEST_IN_PROGRESS", "an audit is already running; wait for it, or try again", {
    retryAfterSeconds: RETRY_S,
  });
}

export function auditMessage(lines: readonly AuditFinding[]) {
  return {
    lines: lines.map(({ name, ...line }) => ({ invariant: name, ...line })),
    clean: lines.every(({ violations }) => violations === 0n),
  };
}
