import type { Metrics } from "../app/metrics.ts";

/** Where nobody measures: nothing is kept. */
export const silentMetrics: Metrics = { count: () => {}, set: () => {} };
