import type { Metrics } from "../app/operations/metrics.ts";

/** Discards everything; used without METRICS_PORT. */
export const silentMetrics: Metrics = {
  count: () => {},
  set: () => {},
  observe: () => {},
  onScrape: () => {},
};
