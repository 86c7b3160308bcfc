import type { ReadableSpan, SpanExporter, SpanProcessor } from "@opentelemetry/sdk-trace";

/** Spans that wait for their export, and those of one export. */
const [MAX_WAITING, MAX_EXPORTED] = [2_048, 512];

/** Longest time that a span waits for others, ms. */
const DELAY_MS = 500;

/** Spans that were lost: the queue was full, or the collector did not accept them. */
export type LostSpans = (spans: number, reason: "queue" | "export") => void;

/**
 * Exports spans in batches, one at a time. A collector that is slow or down loses spans and delays nothing.
 */
export class SpanQueue implements SpanProcessor {
  readonly #exporter: SpanExporter;
  readonly #onExported: (spans: number) => void;
  readonly #onLost: LostSpans;
  #waiting: ReadableSpan[] = [];
  #exporting: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Spans of the export that runs. */
  #sent = 0;

  constructor(exporter: SpanExporter, onExported: (spans: number) => void, onLost: LostSpans) {
    this.#exporter = exporter;
    this.#onExported = onExported;
    this.#onLost = onLost;
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if (this.#waiting.length >= MAX_WAITING) return this.#onLost(1, "queue");
    this.#waiting.push(span);
    if (this.#waiting.length >= MAX_EXPORTED) void this.#export();
    else this.#timer ??= setTimeout(() => void this.#export(), DELAY_MS).unref();
  }

  /** Exports what waits. */
  async forceFlush(): Promise<void> {
    while (this.#waiting.length > 0) await this.#export();
    await this.#exporting;
  }

  async shutdown(): Promise<void> {
    await this.forceFlush();
    await this.#exporter.shutdown();
  }

  /** Counts what has not been accepted as lost. */
  abandon(): void {
    clearTimeout(this.#timer);
    const lost = this.#sent + this.#waiting.splice(0).length;
    this.#sent = 0;
    if (lost > 0) this.#onLost(lost, "export");
  }

  #export(): Promise<void> {
    this.#exporting ??= this.#next().finally(() => {
      this.#exporting = undefined;
      if (this.#waiting.length >= MAX_EXPORTED) void this.#export();
      else if (this.#waiting.length > 0)
        this.#timer ??= setTimeout(() => void this.#export(), DELAY_MS).unref();
    });
    return this.#exporting;
  }

  #next(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const spans = this.#waiting.splice(0, MAX_EXPORTED);
    this.#sent = spans.length;
    return new Promise((resolve) => {
      this.#exporter.export(spans, ({ error }) => {
        // Zero if it was abandoned meanwhile.
        const sent = this.#sent;
        this.#sent = 0;
        if (sent > 0 && error === undefined) this.#onExported(sent);
        else if (sent > 0) this.#onLost(sent, "export");
        resolve();
      });
    });
  }
}
