import { AsyncLocalStorage } from "node:async_hooks";
import {
  createTraceState,
  ROOT_CONTEXT,
  SpanKind as OtelKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Context,
  type Span as OtelSpan,
  type Tracer as OtelTracer,
} from "@opentelemetry/api";
import { ToolgateError } from "../domain/core/errors.ts";
import type { Span, SpanAttributes, SpanKind, TraceContext, Tracer } from "../domain/core/span.ts";

/** W3C Trace Context, "traceparent Header Field Values": version, trace, parent and flags. */
const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

/** Longest tracestate that is passed on, characters (W3C Trace Context, "tracestate Limits"). */
const MAX_STATE = 512;

const KINDS = { internal: OtelKind.INTERNAL, server: OtelKind.SERVER, client: OtelKind.CLIENT };

/** Traces with OpenTelemetry. The current step is known only inside {@link Span.run}. */
export class OtelTracing implements Tracer {
  readonly #tracer: OtelTracer;
  readonly #storage = new AsyncLocalStorage<Span>();

  constructor(tracer: OtelTracer) {
    this.#tracer = tracer;
  }

  start(at: number, parent: TraceContext): Span {
    const options = { kind: OtelKind.SERVER, startTime: epochMs(at) };
    return new TracedSpan(this, this.#tracer.startSpan("request", options, contextOf(parent)));
  }

  current(): Span | undefined {
    return this.#storage.getStore();
  }

  child(parent: OtelSpan, name: string, attributes: SpanAttributes, kind: SpanKind): Span {
    const options = {
      kind: KINDS[kind],
      attributes: { ...attributes },
      startTime: epochMs(performance.now()),
    };
    return new TracedSpan(this, this.#tracer.startSpan(name, options, trace.setSpan(ROOT_CONTEXT, parent)));
  }

  run<Result>(span: Span, work: () => Result): Result {
    return this.#storage.run(span, work);
  }
}

class TracedSpan implements Span {
  readonly traceId: string;
  readonly sampled: boolean;
  readonly #tracing: OtelTracing;
  readonly #span: OtelSpan;

  constructor(tracing: OtelTracing, span: OtelSpan) {
    this.#tracing = tracing;
    this.#span = span;
    const { traceId, traceFlags } = span.spanContext();
    this.traceId = traceId;
    this.sampled = (traceFlags & TraceFlags.SAMPLED) !== 0;
  }

  get headers(): Record<string, string> {
    const { traceId, spanId, traceState } = this.#span.spanContext();
    const tracestate = traceState?.serialize() ?? "";
    return {
      traceparent: `00-${traceId}-${spanId}-${this.sampled ? "01" : "00"}`,
      ...(tracestate !== "" && { tracestate }),
    };
  }

  /** Of a step that is not recorded, or has ended, the step itself. */
  child(name: string, attributes: SpanAttributes = {}, kind: SpanKind = "internal"): Span {
    return this.#span.isRecording() ? this.#tracing.child(this.#span, name, attributes, kind) : this;
  }

  set(attributes: SpanAttributes, name?: string): void {
    this.#span.setAttributes({ ...attributes });
    if (name !== undefined) this.#span.updateName(name);
  }

  link(other: Span): void {
    if (other instanceof TracedSpan && other !== this)
      this.#span.addLink({ context: other.#span.spanContext() });
  }

  run<Result>(work: () => Result): Result {
    return this.#tracing.run(this, work);
  }

  end(error?: unknown): void {
    if (!this.#span.isRecording()) return;
    if (error !== undefined) {
      this.#span.setAttribute("error.type", errorType(error));
      this.#span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#span.end(epochMs(performance.now()));
  }
}

function errorType(error: unknown): string {
  if (error instanceof ToolgateError) return error.code;
  if (typeof error === "string") return error;
  return error instanceof Error ? error.name : "_OTHER";
}

function epochMs(at: number): number {
  return performance.timeOrigin + at;
}

function contextOf({ traceparent = "", tracestate = "" }: TraceContext): Context {
  const [, traceId, spanId, flags = ""] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined) return ROOT_CONTEXT;
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED;
  const state = tracestate !== "" && tracestate.length <= MAX_STATE && createTraceState(tracestate);
  const sent = { traceId, spanId, traceFlags, isRemote: true, ...(state && { traceState: state }) };
  return trace.setSpanContext(ROOT_CONTEXT, sent);
}
