import type { Metrics } from "../app/metrics.ts";
import type { ServeConfig } from "../config/config.ts";
import type { MetricsServer } from "../metrics/index.ts";
import { silentMetrics } from "../metrics/silent-metrics.ts";

/** Where figures go, and the door where they are read; undefined: nobody measures. */
export interface OpenMetrics {
  readonly metrics: Metrics;
  readonly server: MetricsServer | undefined;
}

/** Measures where METRICS_PORT is set; elsewhere the library is not even loaded. */
export async function openMetrics({
  METRICS_PORT: port,
}: Pick<ServeConfig, "METRICS_PORT">): Promise<OpenMetrics> {
  if (port === undefined) return { metrics: silentMetrics, server: undefined };
  const { MetricsServer, PrometheusMetrics } = await import("../metrics/index.ts");
  const metrics = new PrometheusMetrics();
  return { metrics, server: new MetricsServer(metrics) };
}
