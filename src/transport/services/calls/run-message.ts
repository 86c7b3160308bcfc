import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type Run as RunMessage, RunSchema, RunStatus } from "#gen/toolgate/v1/run_pb.ts";
import type * as domain from "../../../domain/calls/receipt.ts";

/** Returns the run message (specification 2.6). */
export function runMessage(run: domain.Run): RunMessage {
  return create(RunSchema, {
    runId: run.runId,
    stepId: run.stepId,
    tool: run.tool,
    status: RUN_STATUS[run.status],
    quotedUsdcMicrousd: run.quoted,
    spentUsdcMicrousd: run.spent,
    receiptId: run.receiptId,
    error: run.error,
    model: run.model,
    createdAt: timestampFromDate(run.createdAt),
    startedAt: run.startedAt && timestampFromDate(run.startedAt),
    endedAt: run.endedAt && timestampFromDate(run.endedAt),
  });
}

export const RUN_STATUS: Readonly<Record<domain.RunStatus, RunStatus>> = {
  active: RunStatus.ACTIVE,
  completed: RunStatus.COMPLETED,
  failed: RunStatus.FAILED,
  cancelled: RunStatus.CANCELLED,
};
