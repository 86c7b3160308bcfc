import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { OperationsService } from "#gen/toolgate/v1/operations_service_pb.ts";
import type { JobRuns, JobState } from "../../../app/jobs/job-runs.ts";
import type { RevenueReports } from "../../../app/operations/revenue.ts";
import { invalidField } from "../../../domain/core/errors.ts";
import type { Service } from "../service-impl.ts";
import { dateIn } from "../timestamp.ts";

export interface ReportDeps {
  readonly jobRuns: Pick<JobRuns, "overview">;
  readonly revenueReports: RevenueReports;
}

/** The methods of the operations service that report on jobs and revenue. */
export function reportEndpoints({
  jobRuns,
  revenueReports,
}: ReportDeps): Pick<Service<typeof OperationsService>, "listJobs" | "getRevenue"> {
  return {
    listJobs: {
      key: "required",
      operator: true,
      async call() {
        const { jobs, leader, instance } = await jobRuns.overview();
        return {
          jobs: jobs.map(jobMessage),
          leader: leader?.instance ?? "",
          ...(leader && { leaderUntil: timestampFromDate(leader.until) }),
          instance,
        };
      },
    },
    getRevenue: {
      key: "required",
      operator: true,
      async call(request) {
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
    },
  };
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
