import type { Metrics } from "../app/metrics.ts";

/** Discards everything; used without METRICS_PORT. */
export const silentMetrics: Metrics = { count: () => {}, set: () => {} };
