import { ApiFailure } from "./api-failure.ts";
import type { ExecutionsApi } from "./executions-api.ts";
import { FrameReader } from "./frames.ts";
import { type PodResult, podResultSchema } from "./outcomes.ts";

/** The longest compressed result plus messages of the interpreter. */
const MAX_LOG_BYTES = 8 * 1024 * 1024;

/** Result of reading a log. "nothing": it ended without a result; "cut": it may continue. */
export type LogFinding = PodResult | "too-much" | "nothing" | "cut";

/** Reads a pod's log until it has the result. @param onStarted the code was handed over, once a reading */
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
    // A deleted pod has no log any more; a starting container has none yet.
    return error.status === 404 ? "nothing" : "cut";
  }
  return "nothing";
}
