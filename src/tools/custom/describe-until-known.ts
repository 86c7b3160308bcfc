import { setTimeout as wait } from "node:timers/promises";
import type { CustomTool } from "./custom-tool.ts";

/** Pause after the first failure, and the longest one, ms; it doubles in between. */
const INITIAL_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 60_000;

/** How long a server may take to describe itself, ms. */
const DESCRIBE_MS = 30_000;

/** Where is told what becomes of it. */
export interface DescribeLog {
  info(bindings: object, message: string): void;
  warn(bindings: object, message: string): void;
}

/** Asks what stands behind a tool what it takes until it says so, or `signal` aborts. Until then the tool is announced only. */
export async function describeUntilKnown(
  tool: CustomTool,
  log: DescribeLog,
  signal: AbortSignal,
  initialBackoffMs = INITIAL_BACKOFF_MS,
): Promise<void> {
  for (let pauseMs = initialBackoffMs; !signal.aborted; pauseMs = Math.min(pauseMs * 2, MAX_BACKOFF_MS)) {
    try {
      await tool.describe(AbortSignal.any([signal, AbortSignal.timeout(DESCRIBE_MS)]));
      log.info({ tool: tool.name }, "a registered tool is offered from now on");
      return;
    } catch (error) {
      if (signal.aborted) return;
      log.warn(
        { tool: tool.name, err: error, retryInMs: pauseMs },
        "a registered tool's server does not describe it",
      );
    }
    // Rejects when there is nobody left to wait for.
    await wait(pauseMs, undefined, { signal }).catch(() => {});
  }
}
