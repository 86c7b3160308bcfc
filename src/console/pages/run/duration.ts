import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Run } from "#gen/toolgate/v1/run_pb.ts";
import { formatDuration } from "../../format.ts";

/** How long the tool was at work, for people; a dash while it is, and where it was never started. */
export function durationLabel({ startedAt, endedAt }: Pick<Run, "startedAt" | "endedAt">): string {
  if (startedAt === undefined || endedAt === undefined) return "—";
  return formatDuration(Math.max(0, timestampMs(endedAt) - timestampMs(startedAt)));
}
