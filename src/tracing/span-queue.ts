import { ExportResultCode } from "@opentelemetry/core";
import {
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
} from "@opentelemetry/sdk-trace";

/** OTEL_BSP_*; times in ms. */
export interface BatchLimits {
  readonly scheduledDelayMillis: number;
  readonly exportTimeoutMillis: number;
  readonly maxQueueSize: number;
  readonly maxExportBatchSize: number;
}

/** Called with spans that were exported, or lost: the queue was full, or the collector refused them. */
export type OnSpans = (spans: number, lost?: "queue" | "export") => void;

/** Counts the spans of OpenTelemetry's batches. A slow or absent collector loses spans and delays nothing. */
export class SpanQueue implements SpanProcessor {
  readonly #exporter: SpanExporter;
  readonly #batches: BatchSpanProcessor;
  readonly #capacity: number;
  readonly #onSpans: OnSpans;
  /** Spans that wait, and spans of the exports that run. */
  #waiting = 0;
  #sent = 0;
  #abandoned = false;

  constructor(exporter: SpanExporter, limits: BatchLimits, onSpans: OnSpans) {
    this.#exporter = exporter;
    this.#capacity = limits.maxQueueSize;
    this.#onSpans = onSpans;
    const counted: SpanExporter = {
      export: (spans, done) => this.#export(spans, done),
      shutdown: () => exporter.shutdown(),
    };
    this.#batches = new BatchSpanProcessor({ ...limits, exporter: counted });
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    // The batches would drop it without a word.
    if (this.#waiting >= this.#capacity) return this.#onSpans(1, "queue");
    this.#waiting++;
    this.#batches.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.#batches.forceFlush();
  }

  /** Exports what waits. */
  shutdown(): Promise<void> {
    return this.#batches.shutdown();
  }

  /** Counts what has not been accepted as lost. */
  abandon(): void {
    this.#abandoned = true;
    if (this.#waiting + this.#sent > 0) this.#onSpans(this.#waiting + this.#sent, "export");
  }

  #export(...[spans, done]: Parameters<SpanExporter["export"]>): void {
    this.#waiting -= spans.length;
    this.#sent += spans.length;
    this.#exporter.export(spans, (result) => {
      this.#sent -= spans.length;
      const accepted = result.code === ExportResultCode.SUCCESS;
      if (!this.#abandoned) this.#onSpans(spans.length, accepted ? undefined : "export");
      done(result);
    });
  }
}
