import { ApiFailure } from "./api-failure.ts";
import type { ExecutionsApi } from "./executions-api.ts";
import { FrameReader } from "./frames.ts";
import { type PodResult, podResultSchema } from "./outcomes.ts";

/** Most bytes of a log that are read: a result at its longest, packed, and what the interpreter may have to complain of. */
const MAX_LOG_BYTES = 8 * 1024 * 1024;

/** What one reading of a log found. "nothing": it ended without the result; "cut": it may go on. */
export type LogFinding = PodResult | "too-much" | "nothing" | "cut";

/**
 * Reads a pod's log from its start until it tells the result.
 * @param onStarted hears, perhaps once in each reading, that the code was handed over
 */
export async function readLog(
  api: ExecutionsApi,
  pod: string,
  nonce: string,
  onStarted: () => void,
  signal: AbortSignal,
): Promise<LogFinding> {
  const frames = new FrameReader(nonce);
  let bytes = 0;
  try {
    for await (const chunk of api.followLog(pod, signal)) {
      bytes += chunk.length;
      if (bytes > MAX_LOG_BYTES) return "too-much";
      for (const frame of frames.read(chunk)) {
        if (frame.kind === "result") return podResultSchema.parse(frame.value);
        onStarted();
      }
    }
  } catch (error) {
    if (!(error instanceof ApiFailure)) throw error;
    // With its pod, a log is gone for good; a container that is about to begin has none yet.
    return error.status === 404 ? "nothing" : "cut";
  }
  return "nothing";
}
