import process from "node:process";
import { measuredLedger } from "../app/calls/measured-ledger.ts";
import type { Metrics } from "../app/operations/metrics.ts";
import { type RequestObserver, RequestRecorder } from "../app/operations/request-record.ts";
import { type ServeConfig, ConfigError } from "../config/config.ts";
import type { MetricsServer } from "../metrics/index.ts";
import type { Readiness } from "../app/operations/readiness.ts";
import type { Postgres } from "../postgres/index.ts";
import { VERSION } from "../version.ts";
import { silentMetrics } from "../metrics/silent-metrics.ts";
import { RequestLog, requestSpans } from "../app/operations/request-log.ts";
import type { Log } from "../domain/core/log.ts";
import { MissingPackagesError, requirePackages } from "../optional-packages.ts";
import type { Tracing } from "../tracing/index.ts";
import type { Tracer } from "../domain/core/span.ts";

/** Time for the database's check in an answer to Prometheus, ms. */
const READY_MS = 2_000;

/** The metrics and the server that exposes them; the server is undefined without METRICS_PORT. */
interface OpenMetrics {
  readonly metrics: Metrics;
  /** Count requests; none without METRICS_PORT. */
  readonly observers: readonly RequestObserver[];
  readonly server: MetricsServer | undefined;
  /** The values of all metrics; none without METRICS_PORT. */
  readonly values: () => Promise<readonly object[]>;
}

/**
 * Loads the metrics library only when METRICS_PORT is set.
 * @param isWorker whether another process serves the metrics
 */
async function openMetrics(
  { METRICS_PORT: port }: Pick<ServeConfig, "METRICS_PORT">,
  isWorker: boolean,
): Promise<OpenMetrics> {
  if (port === undefined)
    return { metrics: silentMetrics, observers: [], server: undefined, values: async () => [] };
  const { MetricsServer, PrometheusMetrics } = await import("../metrics/index.ts");
  const metrics = new PrometheusMetrics();
  metrics.set("toolgate_build_info", 1, { version: VERSION, node: process.version });
  metrics.set("toolgate_workers", 1);
  return {
    metrics,
    observers: [metrics.requests],
    server: isWorker ? undefined : new MetricsServer((accept) => metrics.exposition(accept)),
    values: () => metrics.values(),
  };
}

export function measuredPostgres(postgres: Postgres, metrics: Metrics): Postgres {
  const { ledger, refunds, clock } = postgres;
  return {
    ...postgres,
    ledger: measuredLedger(ledger, metrics, clock),
    refunds: {
      async refund(refund) {
        const result = await refunds.refund(refund);
        if (result.refunded)
          metrics.count("toolgate_refunded_microusd_total", Number(result.receipt.debited));
        return result;
      },
    },
  };
}

/** Reports the checks of /readyz whenever Prometheus asks. */
export function reportReadiness(metrics: Metrics, readiness: Pick<Readiness, "report">): void {
  metrics.onScrape(async () => {
    const { database, sandbox, draining, clock } = await readiness.report(AbortSignal.timeout(READY_MS));
    metrics.set("toolgate_ready", database === "ok" ? 1 : 0, { check: "database" });
    metrics.set("toolgate_ready", sandbox === "passed" || sandbox === "off" ? 1 : 0, { check: "sandbox" });
    metrics.set("toolgate_ready", clock.ok ? 1 : 0, { check: "clock" });
    metrics.set("toolgate_ready", draining ? 0 : 1, { check: "draining" });
  });
}

/** Levels that write what is logged at `info`. */
const INFORMING: ReadonlySet<string> = new Set(["trace", "debug", "info"]);

/** Returns the request log; nothing when the log's level would drop its lines. */
function openRequestLog(
  { LOG_LEVEL: level, LOG_FREE_REQUESTS: every }: Pick<ServeConfig, "LOG_LEVEL" | "LOG_FREE_REQUESTS">,
  log: Pick<Log, "info">,
  after: (ms: number, run: () => void) => void,
): RequestLog[] {
  return INFORMING.has(level) ? [new RequestLog(log, every, after)] : [];
}

const PACKAGES = [
  "@opentelemetry/api",
  "@opentelemetry/core",
  "@opentelemetry/exporter-trace-otlp-http",
  "@opentelemetry/exporter-trace-otlp-proto",
  "@opentelemetry/resources",
  "@opentelemetry/sdk-trace",
];

type TracingSettings = Pick<ServeConfig, Extract<keyof ServeConfig, `OTEL_${string}`>>;

/**
 * Opens the export of traces; loads OpenTelemetry only when an endpoint is set.
 * @returns undefined without an endpoint, or if it is disabled
 * @throws ConfigError when its packages are not installed
 */
async function openConfiguredTracing(
  config: TracingSettings,
  instanceId: string,
  metrics: Metrics,
): Promise<Tracing | undefined> {
  const endpoint = config.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (endpoint === undefined || config.OTEL_SDK_DISABLED) return undefined;
  try {
    requirePackages("OTEL_EXPORTER_OTLP_ENDPOINT", PACKAGES);
  } catch (error) {
    throw error instanceof MissingPackagesError ? new ConfigError([error.message]) : error;
  }
  const { openTracing } = await import("../tracing/index.ts");
  return openTracing({
    url: `${endpoint.replace(/\/$/, "")}/v1/traces`,
    protocol: config.OTEL_EXPORTER_OTLP_PROTOCOL,
    headers: config.OTEL_EXPORTER_OTLP_HEADERS ?? {},
    timeoutMs: config.OTEL_EXPORTER_OTLP_TIMEOUT,
    batches: {
      scheduledDelayMillis: config.OTEL_BSP_SCHEDULE_DELAY,
      exportTimeoutMillis: config.OTEL_BSP_EXPORT_TIMEOUT,
      maxQueueSize: config.OTEL_BSP_MAX_QUEUE_SIZE,
      maxExportBatchSize: config.OTEL_BSP_MAX_EXPORT_BATCH_SIZE,
    },
    sampler: config.OTEL_TRACES_SAMPLER,
    ratio: config.OTEL_TRACES_SAMPLER_ARG,
    resource: {
      "service.version": VERSION,
      "service.instance.id": instanceId,
      "service.name": config.OTEL_SERVICE_NAME ?? "toolgate",
      ...config.OTEL_RESOURCE_ATTRIBUTES,
      ...(config.OTEL_SERVICE_NAME !== undefined && { "service.name": config.OTEL_SERVICE_NAME }),
    },
    metrics,
  });
}

/** What an instance reports about its requests: metrics, log and traces. */
interface Observation {
  readonly metrics: Metrics;
  /** Undefined without METRICS_PORT. */
  readonly metricsServer: MetricsServer | undefined;
  /** Undefined without a collector. */
  readonly tracer: Tracer | undefined;
  readonly requests: RequestRecorder;
  readonly values: OpenMetrics["values"];
  /** Reports what is left. */
  close(): Promise<void>;
}

/** Opens them. @param after calls back after the time, once @throws ConfigError */
export async function openObservation(
  config: ServeConfig,
  instanceId: string,
  log: Log,
  after: (ms: number, run: () => void) => void,
  isWorker: boolean,
): Promise<Observation> {
  const { metrics, server, observers, values } = await openMetrics(config, isWorker);
  const requestLog = openRequestLog(config, log, after);
  const tracing = await openConfiguredTracing(config, instanceId, metrics);
  const tracer = tracing?.tracer;
  const all = [...observers, ...requestLog, ...(tracer ? [requestSpans] : [])];
  return {
    metrics,
    metricsServer: server,
    values,
    tracer,
    // As X-Request-Id is kept.
    requests: new RequestRecorder(all, performance, tracer, config.TRUSTED_PROXY_HOPS > 0),
    async close() {
      for (const one of requestLog) one.flush();
      await tracing?.close();
      await server?.close();
    },
  };
}
