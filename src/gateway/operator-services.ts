import type { ConfigAdmin } from "../app/operations/config-admin.ts";
import type { Operations } from "../app/operations/operations.ts";
import type { Stories } from "../app/operations/story.ts";
import type { KeyRules } from "../domain/accounts/new-key.ts";
import type { Log } from "../domain/core/log.ts";
import type { Postgres } from "../postgres/index.ts";
import { accountService } from "../transport/services/accounts/account-service.ts";
import { auditService } from "../transport/services/operations/audit-service.ts";
import { audited } from "../transport/services/operations/audited.ts";
import { keyService } from "../transport/services/accounts/key-service.ts";
import { operationsService } from "../transport/services/operations/operations-service.ts";
import type { ServiceBinding } from "../transport/services/service-impl.ts";
import { treasuryService } from "../transport/services/treasury/treasury-service.ts";

/** Dependencies of the operator's services. */
export interface OperatorParts {
  readonly postgres: Postgres;
  readonly keyRules: () => KeyRules;
  readonly operations: Operations;
  readonly stories: Stories;
  readonly configAdmin: ConfigAdmin;
  /** The treasury's token account, base58. */
  readonly tokenAccount: string;
  readonly log: Log;
}

/** Returns the operator's services for every transport; each change is written to the operator log first. */
export function operatorServices(parts: OperatorParts): ServiceBinding[] {
  const { postgres, keyRules, operations, stories, configAdmin, tokenAccount, log } = parts;
  const { suspense, refunds, treasuryLedger } = postgres;
  const services: readonly ServiceBinding[] = [
    accountService(postgres.accounts),
    keyService(postgres, keyRules),
    auditService(postgres.audit),
    treasuryService({ suspense, refunds, treasuryLedger, tokenAccount }),
    operationsService(operations, stories, configAdmin, {
      jobRuns: postgres.jobRuns,
      revenueReports: postgres.accountQueries.revenueReports,
    }),
  ];
  return services.map((binding) => audited(binding, { actions: postgres.operatorActions, log }));
}
