import type { Metrics } from "../../app/operations/metrics.ts";
import type { BatchSample } from "../database/batcher.ts";

export function batchObserver(batch: string, metrics: Metrics | undefined) {
  return ({ items, waitedMs, ranMs }: BatchSample) => {
    metrics?.observe("toolgate_batch_items", items, { batch });
    metrics?.observe("toolgate_batch_wait_seconds", waitedMs / 1_000, { batch });
    metrics?.observe("toolgate_batch_duration_seconds", ranMs / 1_000, { batch });
  };
}
