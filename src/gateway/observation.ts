import type { Metrics } from "../app/operations/metrics.ts";
import { RequestRecorder } from "../app/operations/request-record.ts";
import { requestSpans } from "../app/operations/request-spans.ts";
import type { ServeConfig } from "../config/config.ts";
import type { Log } from "../domain/core/log.ts";
import type { Tracer } from "../domain/core/span.ts";
import type { MetricsServer } from "../metrics/index.ts";
import { openMetrics } from "./metrics.ts";
import { openRequestLog } from "./request-log.ts";
import { openConfiguredTracing } from "./tracing.ts";

/** What an instance reports about its requests: metrics, log and traces. */
export interface Observation {
  readonly metrics: Metrics;
  /** Undefined without METRICS_PORT. */
  readonly metricsServer: MetricsServer | undefined;
  /** Undefined without a collector. */
  readonly tracer: Tracer | undefined;
  readonly requests: RequestRecorder;
  /** Reports what is left. */
  close(): Promise<void>;
}

/** Opens them. @param after calls back after the time, once @throws ConfigError */
export async function openObservation(
  config: ServeConfig,
  instanceId: string,
  log: Log,
  after: (ms: number, run: () => void) => void,
): Promise<Observation> {
  const { metrics, server, observers } = await openMetrics(config);
  const requestLog = openRequestLog(config, log, after);
  const tracing = await openConfiguredTracing(config, instanceId, metrics);
  const tracer = tracing?.tracer;
  const all = [...observers, ...requestLog, ...(tracer ? [requestSpans] : [])];
  return {
    metrics,
    metricsServer: server,
    tracer,
    requests: new RequestRecorder(all, performance, tracer),
    async close() {
      for (const one of requestLog) one.flush();
      await tracing?.close();
      await server?.close();
    },
  };
}
