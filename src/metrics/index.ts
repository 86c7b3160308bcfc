export { MetricsServer } from "./metrics-server.ts";
export { combined, combinedText, PrometheusMetrics } from "./prometheus-metrics.ts";
