import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  EndpointStatusSchema,
  FailedPaymentKind,
  FailedPaymentSchema,
  FeePayerStatusSchema,
  GetStatusResponseSchema,
  LastAuditSchema,
  MinuteOfCallsSchema,
  OperationsService,
  OperatorActionSchema,
  StoryEventSchema,
  TreasuryStatusSchema,
} from "#gen/toolgate/v1/operations_service_pb.ts";
import type { ExplainedFailure, Operations, ServiceStatus } from "../../../app/operations/operations.ts";
import type { ConfigAdmin } from "../../../app/operations/config-admin.ts";
import type { Stories, StoryEvent } from "../../../app/operations/story.ts";
import type { LastAudit } from "../../../app/operations/audit.ts";
import type { EndpointStatus } from "../../../app/operations/chain-monitor.ts";
import type { FailedPaymentKind as PaymentKind } from "../../../app/operations/failed-payments.ts";
import type { OperatorAction } from "../../../app/operations/operator-actions.ts";
import { auditMessage } from "./audit-message.ts";
import { configEndpoints } from "./config-endpoints.ts";
import { reportEndpoints, type ReportDeps } from "./report-endpoints.ts";
import { DEFAULT_LIMIT } from "../page.ts";
import { bind, type ServiceBinding } from "../service-impl.ts";

/** The operator's status, failed payments and operator log. */
export function operationsService(
  operations: Operations,
  stories: Pick<Stories, "find">,
  configAdmin: ConfigAdmin,
  reports: ReportDeps,
): ServiceBinding<typeof OperationsService> {
  return bind(OperationsService, {
    getStatus: {
      key: "required",
      operator: true,
      async call() {
        return statusMessage(await operations.status());
      },
    },
    find: {
      key: "required",
      operator: true,
      async call({ id }) {
        return { events: (await stories.find(id)).map(eventMessage) };
      },
    },
    listFailedPayments: {
      key: "required",
      operator: true,
      async call({ limit = DEFAULT_LIMIT, cursor }) {
        const { items, nextCursor } = await operations.failedPayments({ limit, cursor });
        return { items: items.map(failedMessage), nextCursor };
      },
    },
    listActions: {
      key: "required",
      operator: true,
      async call({ limit = DEFAULT_LIMIT, cursor }) {
        const { items, nextCursor } = await operations.actions({ limit, cursor });
        return { items: items.map(actionMessage), nextCursor };
      },
    },
    ...configEndpoints(configAdmin),
    ...reportEndpoints(reports),
  });
}

function statusMessage(status: ServiceStatus) {
  return create(GetStatusResponseSchema, {
    treasury: treasuryMessage(status.treasury),
    feePayer: status.feePayer && feePayerMessage(status.feePayer),
    endpoints: endpointMessages(status.endpoints),
    minutes: status.minutes.map(({ start, completed, failed, charged }) =>
      create(MinuteOfCallsSchema, {
        start: timestampFromDate(start),
        completed,
        failed,
        chargedUsdcMicrousd: charged,
      }),
    ),
    activeRuns: BigInt(status.activeRuns),
    liabilitiesUsdcMicrousd: status.liabilities,
    revenueUsdcMicrousd: status.revenue,
    suspenseCount: BigInt(status.suspense.count),
    suspenseUsdcMicrousd: status.suspense.amount,
    audit: status.audit && lastAuditMessage(status.audit),
  });
}

function treasuryMessage({ owner, tokenAccount, held, watch, problem = "" }: ServiceStatus["treasury"]) {
  return create(TreasuryStatusSchema, {
    owner,
    tokenAccount,
    heldUsdcMicrousd: held,
    expectedUsdcMicrousd: watch?.expected,
    lookedAt: watch && timestampFromDate(watch.checkedAt),
    problem,
  });
}

function feePayerMessage(feePayer: NonNullable<ServiceStatus["feePayer"]>) {
  const { address, lamports, lowLamports, spentToday, dailyLamports } = feePayer;
  return create(FeePayerStatusSchema, {
    address,
    lamports,
    lowLamports,
    spentTodayLamports: spentToday,
    dailyLamports,
  });
}

function endpointMessages(endpoints: readonly EndpointStatus[]) {
  const foremost = endpoints.reduce((most, { slot = 0n }) => (slot > most ? slot : most), 0n);
  return endpoints.map(({ host, slot, latencyMs, problem = "" }) =>
    create(EndpointStatusSchema, {
      host,
      healthy: slot !== undefined,
      slot,
      slotsBehind: slot === undefined ? undefined : foremost - slot,
      latencyMs,
      problem,
    }),
  );
}

function lastAuditMessage({ at, findings }: LastAudit) {
  return create(LastAuditSchema, { at: timestampFromDate(at), ...auditMessage(findings) });
}

const KINDS: Readonly<Record<PaymentKind, FailedPaymentKind>> = {
  reversed: FailedPaymentKind.REVERSED,
  unused: FailedPaymentKind.UNUSED,
  relay: FailedPaymentKind.RELAY,
};

function failedMessage({
  txSignature,
  accountId = "",
  quoteId = "",
  amount,
  kind,
  reason,
  at,
}: ExplainedFailure) {
  return create(FailedPaymentSchema, {
    txSignature,
    accountId,
    quoteId,
    amountUsdcMicrousd: amount,
    kind: KINDS[kind],
    reason,
    at: timestampFromDate(at),
  });
}

function eventMessage({ at, event, id, accountId = "", amount, details }: StoryEvent) {
  return create(StoryEventSchema, {
    at: timestampFromDate(at),
    event,
    id,
    accountId,
    amountUsdcMicrousd: amount,
    details,
  });
}

function actionMessage(action: OperatorAction) {
  const { actionId, at, actor, name, target, details, failure = "", repeatOf = "" } = action;
  return create(OperatorActionSchema, {
    actionId,
    at: timestampFromDate(at),
    accountId: actor.accountId ?? "",
    actor: actor.name,
    action: name,
    target,
    details,
    failure,
    repeats: repeatOf,
  });
}
