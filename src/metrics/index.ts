export { MetricsServer } from "./metrics-server.ts";
export { PrometheusMetrics } from "./prometheus-metrics.ts";
