import type { Job } from "./job.ts";

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000];

/** Makes the partitions of runs and receipts a month ahead. */
export function partitionsJob(makePartitions: () => Promise<void>): Job {
  return {
    name: "partitions",
    afterMs: MINUTE_MS,
    everyMs: HOUR_MS,
    limitMs: MINUTE_MS,
    run: makePartitions,
  };
}
