import { setTimeout as sleep } from "node:timers/promises";
import { defaultResource, resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace";
import type { Metrics } from "../app/operations/metrics.ts";
import type { SamplerName, Tracer } from "../domain/core/span.ts";
import { type BatchLimits, SpanQueue } from "./span-queue.ts";
import { OtelTracer } from "./tracer.ts";

/** Limit of the last exports at a shutdown, ms. */
const FLUSH_MS = 3_000;

export interface TracingOptions {
  /** Of the collector, with its path. */
  readonly url: string;
  readonly protocol: "http/json" | "http/protobuf";
  readonly headers: Readonly<Record<string, string>>;
  /** Limit of one export with its retries. */
  readonly timeoutMs: number;
  readonly batches: BatchLimits;
  readonly sampler: SamplerName;
  readonly ratio: number;
  /** Attributes of this process, such as `service.name`. */
  readonly resource: Readonly<Record<string, string>>;
  readonly metrics: Pick<Metrics, "count">;
}

export interface Tracing {
  readonly tracer: Tracer;
  /** Exports what waits, for a limited time. */
  close(): Promise<void>;
}

/** Opens the export of traces over OTLP (HTTP). */
export async function openTracing(options: TracingOptions): Promise<Tracing> {
  const { url, protocol, headers, timeoutMs, batches, resource, metrics } = options;
  const { OTLPTraceExporter } =
    protocol === "http/json"
      ? await import("@opentelemetry/exporter-trace-otlp-http")
      : await import("@opentelemetry/exporter-trace-otlp-proto");
  const exporter = new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis: timeoutMs,
    // A shutdown sends all batches at once.
    concurrencyLimit: Math.ceil(batches.maxQueueSize / batches.maxExportBatchSize) + 1,
  });
  const queue = new SpanQueue(exporter, batches, (spans, lost) => {
    if (lost) metrics.count("toolgate_spans_lost_total", spans, { reason: lost });
    else metrics.count("toolgate_spans_exported_total", spans);
  });
  const provider = {
    resource: defaultResource().merge(resourceFromAttributes(resource)),
    spanProcessors: [queue],
  };
  return {
    tracer: new OtelTracer(samplerOf(options.sampler, options.ratio), provider, resource["service.version"]),
    async close() {
      const ended = new AbortController();
      const late = sleep(FLUSH_MS, undefined, { signal: ended.signal }).catch(() => {});
      await Promise.race([queue.shutdown().catch(() => {}), late]);
      ended.abort();
      queue.abandon();
    },
  };
}

/** Returns the sampler of a name (OpenTelemetry, SDK environment variables). */
function samplerOf(name: SamplerName, ratio: number): Sampler {
  if (name.endsWith("always_on")) return ofCallers(name, new AlwaysOnSampler());
  if (name.endsWith("always_off")) return ofCallers(name, new AlwaysOffSampler());
  return ofCallers(name, new TraceIdRatioBasedSampler(ratio));
}

function ofCallers(name: SamplerName, root: Sampler): Sampler {
  return name.startsWith("parentbased_") ? new ParentBasedSampler({ root }) : root;
}
