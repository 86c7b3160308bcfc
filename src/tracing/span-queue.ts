import { spanJson, type EndedSpan } from "./otlp-json.ts";
import { SpanBatch } from "./span-batch.ts";

/** Batches that wait for their export, and spans of one batch. */
const [MAX_WAITING, MAX_SPANS] = [4, 512];

/** Longest time that a span waits for others, ms. */
const DELAY_MS = 500;

/** Spans that were lost: the queue was full, or the collector did not accept them. */
export type LostSpans = (spans: number, reason: "queue" | "export") => void;

/** Sends spans to the collector. */
export interface SpanExporter {
  export(batch: SpanBatch, done: (result: { readonly error?: Error }) => void): void;
  shutdown(): Promise<void>;
}

/**
 * Exports spans in batches, one at a time. A collector that is slow or down loses spans and delays nothing.
 */
export class SpanQueue {
  readonly #exporter: SpanExporter;
  readonly #onExported: (spans: number) => void;
  readonly #onLost: LostSpans;
  /** All but the last are full. */
  #waiting: SpanBatch[] = [];
  #exporting: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Spans of the export that runs. */
  #sent = 0;

  constructor(exporter: SpanExporter, onExported: (spans: number) => void, onLost: LostSpans) {
    this.#exporter = exporter;
    this.#onExported = onExported;
    this.#onLost = onLost;
  }

  add(span: EndedSpan): void {
    const batch = this.#open();
    if (!batch) return this.#onLost(1, "queue");
    batch.add(spanJson(span));
    this.#schedule();
  }

  /** Returns the batch that takes the next span; undefined if the queue is full. */
  #open(): SpanBatch | undefined {
    const last = this.#waiting.at(-1);
    if (last && last.spans < MAX_SPANS) return last;
    if (this.#waiting.length >= MAX_WAITING) return undefined;
    const added = new SpanBatch();
    this.#waiting.push(added);
    return added;
  }

  /** Exports a full batch at once, another one later. */
  #schedule(): void {
    const [next] = this.#waiting;
    if (next && next.spans >= MAX_SPANS) void this.#export();
    else if (next) this.#timer ??= setTimeout(() => void this.#export(), DELAY_MS).unref();
  }

  /** Exports what waits. */
  async shutdown(): Promise<void> {
    while (this.#waiting.length > 0) await this.#export();
    await this.#exporting;
    await this.#exporter.shutdown();
  }

  /** Counts what has not been accepted as lost. */
  abandon(): void {
    clearTimeout(this.#timer);
    const lost = this.#waiting.splice(0).reduce((sum, { spans }) => sum + spans, this.#sent);
    this.#sent = 0;
    if (lost > 0) this.#onLost(lost, "export");
  }

  #export(): Promise<void> {
    this.#exporting ??= this.#next().finally(() => {
      this.#exporting = undefined;
      this.#schedule();
    });
    return this.#exporting;
  }

  #next(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#waiting.shift();
    if (!batch) return Promise.resolve();
    this.#sent = batch.spans;
    return new Promise((resolve) => {
      this.#exporter.export(batch, ({ error }) => {
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
