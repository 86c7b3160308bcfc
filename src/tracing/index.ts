import { setTimeout as sleep } from "node:timers/promises";
import type { Metrics } from "../app/operations/metrics.ts";
import type { Random } from "../domain/core/clock.ts";
import type { SamplerName, Tracer } from "../domain/core/span.ts";
import { openExporter } from "./otlp-exporter.ts";
import { RecordingTracer } from "./recording-tracer.ts";
import { samplerOf } from "./sampler.ts";
import { SpanQueue } from "./span-queue.ts";

/** Limit of the last exports at a shutdown, ms. */
const FLUSH_MS = 3_000;

/** Options of openTracing. */
export interface TracingOptions {
  /** Of the collector, with its path. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Limit of one export with its retries. */
  readonly timeoutMs: number;
  readonly sampler: SamplerName;
  readonly ratio: number;
  /** Attributes of this process, such as `service.name`. */
  readonly resource: Readonly<Record<string, string>>;
  readonly metrics: Pick<Metrics, "count">;
  readonly random: Random;
}

/** Traces and their export. */
export interface Tracing {
  readonly tracer: Tracer;
  /** Exports what waits, for a limited time. */
  close(): Promise<void>;
}

/** Opens the export of traces over OTLP (HTTP with JSON). */
export function openTracing(options: TracingOptions): Tracing {
  const { sampler, ratio, metrics, random } = options;
  const queue = new SpanQueue(
    openExporter(options),
    (spans) => metrics.count("toolgate_spans_exported_total", spans),
    (spans, reason) => metrics.count("toolgate_spans_lost_total", spans, { reason }),
  );
  return {
    tracer: new RecordingTracer(samplerOf(sampler, ratio), random, (span) => queue.add(span)),
    async close() {
      const ended = new AbortController();
      const late = sleep(FLUSH_MS, undefined, { signal: ended.signal }).catch(() => {});
      await Promise.race([queue.shutdown().catch(() => {}), late]);
      ended.abort();
      queue.abandon();
    },
  };
}
