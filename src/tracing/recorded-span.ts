import type { AsyncLocalStorage } from "node:async_hooks";
import { ToolgateError } from "../domain/core/errors.ts";
import type { Span, SpanAttributes, SpanKind } from "../domain/core/span.ts";
import type { EndedSpan } from "./otlp-json.ts";
import { stateOf } from "./trace-context.ts";

/** Hex digits of a span's id. */
const SPAN_DIGITS = 16;

/** Receives sampled steps when they end. */
export type EndedSpans = (span: EndedSpan) => void;

/** What the spans of a tracer share. */
export interface SpanRecorder {
  readonly storage: AsyncLocalStorage<Span>;
  readonly onEnd: EndedSpans;
  /** Returns random hex digits. */
  id(digits: number): string;
}

type SpanStart = Pick<EndedSpan, "traceId" | "parent" | "name" | "kind" | "startedAt">;

/** A step that is exported when it ends. One that never ends leaves no trace. */
export class RecordedSpan implements Span {
  readonly sampled = true;
  readonly spanId: string;
  readonly #recorder: SpanRecorder;
  readonly #start: SpanStart;
  /** The caller's tracestate, as sent. */
  readonly #sentState: string;
  #name: string;
  #attributes: SpanAttributes;
  #links: readonly EndedSpan["links"][number][] = [];
  #ended = false;

  constructor(recorder: SpanRecorder, start: SpanStart, sentState: string, attributes: SpanAttributes) {
    this.#recorder = recorder;
    this.#start = start;
    this.#sentState = sentState;
    this.#name = start.name;
    this.#attributes = attributes;
    this.spanId = recorder.id(SPAN_DIGITS);
  }

  get traceId(): string {
    return this.#start.traceId;
  }

  get headers(): Record<string, string> {
    return headersOf(this.traceId, this.spanId, "01", this.state);
  }

  get state(): string {
    return stateOf(this.#sentState);
  }

  /** Of a step that has ended, the step itself. */
  child(name: string, attributes: SpanAttributes = {}, kind: SpanKind = "internal"): Span {
    if (this.#ended) return this;
    const { traceId, spanId } = this;
    const parent = { spanId, isRemote: false };
    const start = { traceId, parent, name, kind, startedAt: performance.now() };
    return new RecordedSpan(this.#recorder, start, this.#sentState, attributes);
  }

  set(attributes: SpanAttributes, name = this.#name): void {
    this.#attributes = { ...this.#attributes, ...attributes };
    this.#name = name;
  }

  link(other: Span): void {
    if (other instanceof RecordedSpan && other !== this) this.#links = [...this.#links, other];
  }

  run<Result>(work: () => Result): Result {
    return this.#recorder.storage.run(this, work);
  }

  end(error?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    const failed = error !== undefined;
    if (failed) this.set({ "error.type": errorType(error) });
    this.#recorder.onEnd({
      ...this.#start,
      name: this.#name,
      spanId: this.spanId,
      state: this.state,
      endedAt: performance.now(),
      attributes: this.#attributes,
      links: this.#links,
      failed,
    });
  }
}

/** A step of a trace that is not exported, and all steps of it: only its headers are sent on. */
export class UnsampledSpan implements Span {
  readonly sampled = false;
  readonly traceId: string;
  readonly #recorder: SpanRecorder;
  readonly #sentState: string;

  constructor(recorder: SpanRecorder, traceId: string, sentState: string) {
    this.traceId = traceId;
    this.#recorder = recorder;
    this.#sentState = sentState;
  }

  get headers(): Record<string, string> {
    return headersOf(this.traceId, this.#recorder.id(SPAN_DIGITS), "00", stateOf(this.#sentState));
  }

  child(): Span {
    return this;
  }

  set(): void {}

  link(): void {}

  run<Result>(work: () => Result): Result {
    return this.#recorder.storage.run(this, work);
  }

  end(): void {}
}

function headersOf(traceId: string, spanId: string, flags: string, state: string): Record<string, string> {
  return { traceparent: `00-${traceId}-${spanId}-${flags}`, ...(state !== "" && { tracestate: state }) };
}

function errorType(error: unknown): string {
  if (error instanceof ToolgateError) return error.code;
  if (typeof error === "string") return error;
  return error instanceof Error ? error.name : "_OTHER";
}
