import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Run } from "#gen/toolgate/v1/run_pb.ts";
import { formatDuration } from "../format.ts";

/** Formats how long the tool ran; a dash if it has not started or ended. */
export function durationLabel({ startedAt, endedAt }: Pick<Run, "startedAt" | "endedAt">): string {
  if (startedAt === undefined || endedAt === undefined) return "—";
  return formatDuration(Math.max(0, timestampMs(endedAt) - timestampMs(startedAt)));
}
