import { AuditService } from "#gen/toolgate/v1/audit_service_pb.ts";
import type { Audit } from "../../../app/operations/audit.ts";
import { ToolgateError } from "../../../domain/core/errors.ts";
import { auditMessage } from "./audit-message.ts";
import { bind, type ServiceBinding } from "../service-impl.ts";

/** Retry-After, seconds. */
const RETRY_S = 5;

/** The operator's ledger audit. One at a time per instance: each uses a whole CPU core. */
export function auditService(audit: Audit): ServiceBinding<typeof AuditService> {
  let running = false;
  return bind(AuditService, {
    runAudit: {
      key: "required",
      operator: true,
      async call({ full }, { signal }) {
        if (running) throw inProgress();
        running = true;
        try {
          return auditMessage(await audit(signal, { whole: full }));
        } finally {
          running = false;
        }
      },
    },
  });
}

function inProgress(): ToolgateError {
  return new ToolgateError("REQUEST_IN_PROGRESS", "an audit is already running; wait for it, or try again", {
    retryAfterSeconds: RETRY_S,
  });
}
