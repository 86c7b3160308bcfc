import { RequestLog } from "../app/operations/request-log.ts";
import type { ServeConfig } from "../config/config.ts";
import type { Log } from "../domain/core/log.ts";

/** Levels that write what is logged at `info`. */
const INFORMING: ReadonlySet<string> = new Set(["trace", "debug", "info"]);

/** Returns the request log; nothing when the log's level would drop its lines. */
export function openRequestLog(
  { LOG_LEVEL: level, LOG_FREE_REQUESTS: every }: Pick<ServeConfig, "LOG_LEVEL" | "LOG_FREE_REQUESTS">,
  log: Pick<Log, "info">,
  after: (ms: number, run: () => void) => void,
): RequestLog[] {
  return INFORMING.has(level) ? [new RequestLog(log, every, after)] : [];
}
