import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Run } from "#gen/toolgate/v1/run_pb.ts";
import { formatDuration } from "../../format.ts";

/** How long the tool was at work, ms; undefined while it is, and where it was never started. */
export function durationOf({ startedAt, endedAt }: Pick<Run, "startedAt" | "endedAt">): number | undefined {
  if (startedAt === undefined || endedAt === undefined) return undefined;
  return Math.max(0, timestampMs(endedAt) - timestampMs(startedAt));
}

/** The same for people. */
export function durationWord(run: Pick<Run, "startedAt" | "endedAt">): string {
  const ms = durationOf(run);
  return ms === undefined ? "—" : formatDuration(ms);
}
