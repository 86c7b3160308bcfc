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
import type { ConfigAdmin } from "../../../app/operations/config-versions.ts";
import type { RequestTimelines, TimelineEvent } from "../../../app/operations/request-timeline.ts";
import type { LastAudit } from "../../../app/operations/audit.ts";
import type {
  EndpointStatus,
  FailedPaymentKind as PaymentKind,
  RevenueReports,
} from "../../../app/operations/operations-queries.ts";
import type { OperatorAction } from "../../../app/operations/operator-actions.ts";
import { auditMessage } from "./audit-service.ts";
import { configEndpoints } from "./config-endpoints.ts";
import { DEFAULT_LIMIT } from "../page.ts";
import { bind, OPERATOR, type ServiceBinding, type Methods } from "../../endpoint.ts";
import type { JobRuns, JobState } from "../../../app/jobs/job.ts";
import { invalidField } from "../../../domain/core/errors.ts";
import { dateIn } from "../request-fields.ts";

export function operationsService(
  operations: Operations,
  timelines: Pick<RequestTimelines, "find">,
  configAdmin: ConfigAdmin,
  reports: ReportDeps,
): ServiceBinding {
  return bind(OperationsService, OPERATOR, {
    async getStatus() {
      return statusMessage(await operations.status());
    },
    async find({ id }) {
      return { events: (await timelines.find(id)).map(eventMessage) };
    },
    async listFailedPayments({ limit = DEFAULT_LIMIT, cursor }) {
      const { items, nextCursor } = await operations.failedPayments({ limit, cursor });
      return { items: items.map(failedMessage), nextCursor };
    },
    async listActions({ limit = DEFAULT_LIMIT, cursor, action, operator, target }) {
      const { items, nextCursor } = await operations.actions({ limit, cursor, action, operator, target });
      return { items: items.map(actionMessage), nextCursor };
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

function eventMessage({ at, event, id, accountId = "", amount, details }: TimelineEvent) {
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

interface ReportDeps {
  readonly jobRuns: Pick<JobRuns, "overview">;
  readonly revenueReports: RevenueReports;
}

function reportEndpoints({ jobRuns, revenueReports }: ReportDeps) {
  return {
    async listJobs() {
      const { jobs, leader, instance } = await jobRuns.overview();
      return {
        jobs: jobs.map(jobMessage),
        leader: leader?.instance ?? "",
        ...(leader && { leaderUntil: timestampFromDate(leader.until) }),
        instance,
      };
    },
    async getRevenue(request) {
      const from = dateIn("from", request.from);
      if (!from) throw invalidField("from", "must be there");
      const report = await revenueReports.revenue({ from, to: dateIn("to", request.to) });
      return {
        accounts: report.accounts.map(({ accountId, calls, charged, refunded }) => ({
          accountId,
          calls,
          chargedUsdcMicrousd: charged,
          refundedUsdcMicrousd: refunded,
        })),
        models: report.models.map(({ model, calls, charged, costed, cost }) => ({
          model,
          calls,
          chargedUsdcMicrousd: charged,
          costedUsdcMicrousd: costed,
          costUsdcMicrousd: cost,
        })),
        chargedUsdcMicrousd: report.charged,
        refundedUsdcMicrousd: report.refunded,
        calls: report.calls,
        accountCount: report.accountCount,
      };
    },
  } satisfies Partial<Methods<typeof OperationsService>>;
}

function jobMessage({ name, instance, startedAt, endedAt, everyMs, failure = "", ...job }: JobState) {
  return {
    name,
    instance,
    startedAt: timestampFromDate(startedAt),
    durationMs: BigInt(Math.max(0, endedAt.getTime() - startedAt.getTime())),
    failure,
    failures: job.failures,
    ...(job.succeededAt && { succeededAt: timestampFromDate(job.succeededAt) }),
    nextAt: timestampFromDate(new Date(endedAt.getTime() + everyMs)),
  };
}
