import { setTimeout as wait } from "node:timers/promises";
import type { Log } from "../../domain/core/log.ts";
import type { CustomTool } from "./custom-tool.ts";

/** Doubles up to the maximum. */
const INITIAL_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 60_000;

const DESCRIBE_MS = 30_000;

/**
 * Describes a tool, with backoff, until the server answers or `signal` aborts. The tool is unavailable
 * meanwhile.
 */
export async function describeUntilKnown(
  tool: CustomTool,
  log: Log,
  signal: AbortSignal,
  initialBackoffMs = INITIAL_BACKOFF_MS,
): Promise<void> {
  for (let pauseMs = initialBackoffMs; !signal.aborted; pauseMs = Math.min(pauseMs * 2, MAX_BACKOFF_MS)) {
    try {
      await tool.describe(AbortSignal.any([signal, AbortSignal.timeout(DESCRIBE_MS)]));
      log.info({ tool: tool.name }, "custom tool available");
      return;
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ tool: tool.name, err: error, retryInMs: pauseMs }, "custom tool could not be described");
    }
    // Rejects on abort, which the loop condition handles.
    await wait(pauseMs, undefined, { signal }).catch(() => {});
  }
}
