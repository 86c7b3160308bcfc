import type { Job } from "./job.ts";

const MINUTE_MS = 60_000;

/** Counts the calls of complete quarters of an hour. */
export function usageJob(count: (signal: AbortSignal) => Promise<void>): Job {
  return { name: "usage", afterMs: MINUTE_MS, everyMs: MINUTE_MS, limitMs: 10 * MINUTE_MS, run: count };
}
