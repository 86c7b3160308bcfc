import type { Metrics } from "../app/operations/metrics.ts";
import type { ServeConfig } from "../config/config.ts";
import type { MetricsServer } from "../metrics/index.ts";
import { silentMetrics } from "../metrics/silent-metrics.ts";

/** The metrics and the server that exposes them; the server is undefined without METRICS_PORT. */
export interface OpenMetrics {
  readonly metrics: Metrics;
  readonly server: MetricsServer | undefined;
}

/** Loads the metrics library only when METRICS_PORT is set. */
export async function openMetrics({
  METRICS_PORT: port,
}: Pick<ServeConfig, "METRICS_PORT">): Promise<OpenMetrics> {
  if (port === undefined) return { metrics: silentMetrics, server: undefined };
  const { MetricsServer, PrometheusMetrics } = await import("../metrics/index.ts");
  const metrics = new PrometheusMetrics();
  return { metrics, server: new MetricsServer(metrics) };
}
