import { setTimeout as wait } from "node:timers/promises";
import type { RegisteredTool } from "./registered-tool.ts";

/** Pause after the first failure, and the longest one, ms; it doubles in between. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/** How long a server may take to describe itself, ms. */
const DESCRIBE_MS = 30_000;

/** Where is told what becomes of it. */
export interface DescribingLog {
  info(bindings: object, message: string): void;
  warn(bindings: object, message: string): void;
}

/** Asks what stands behind a tool what it takes until it says so, or `signal` aborts. Until then the tool is announced only. */
export async function describeUntilKnown(
  tool: RegisteredTool,
  log: DescribingLog,
  signal: AbortSignal,
  firstPauseMs = FIRST_PAUSE_MS,
): Promise<void> {
  for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
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
