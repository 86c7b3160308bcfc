import type { Metrics } from "../app/operations/metrics.ts";
import { ConfigError, type ServeConfig } from "../config/config.ts";
import { MissingPackagesError, requirePackages } from "../optional-packages.ts";
import { systemRandom } from "../system.ts";
import type { Tracing } from "../tracing/index.ts";
import { VERSION } from "../version.ts";

const PACKAGES = ["@opentelemetry/otlp-exporter-base"];

type TracingSettings = Pick<
  ServeConfig,
  | "OTEL_EXPORTER_OTLP_ENDPOINT"
  | "OTEL_EXPORTER_OTLP_HEADERS"
  | "OTEL_EXPORTER_OTLP_TIMEOUT"
  | "OTEL_RESOURCE_ATTRIBUTES"
  | "OTEL_SERVICE_NAME"
  | "OTEL_TRACES_SAMPLER"
  | "OTEL_TRACES_SAMPLER_ARG"
>;

/**
 * Opens the export of traces; loads OpenTelemetry only when an endpoint is set.
 * @returns undefined without an endpoint
 * @throws ConfigError when its packages are not installed
 */
export async function openConfiguredTracing(
  config: TracingSettings,
  instanceId: string,
  metrics: Metrics,
): Promise<Tracing | undefined> {
  const endpoint = config.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (endpoint === undefined) return undefined;
  try {
    requirePackages("OTEL_EXPORTER_OTLP_ENDPOINT", PACKAGES);
  } catch (error) {
    throw error instanceof MissingPackagesError ? new ConfigError([error.message]) : error;
  }
  const { openTracing } = await import("../tracing/index.ts");
  return openTracing({
    url: `${endpoint.replace(/\/$/, "")}/v1/traces`,
    headers: config.OTEL_EXPORTER_OTLP_HEADERS ?? {},
    timeoutMs: config.OTEL_EXPORTER_OTLP_TIMEOUT,
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
    random: systemRandom,
  });
}
