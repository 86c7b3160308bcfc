import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  type Span as SdkSpan,
  SpanKind as Kind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer as SdkTracer,
} from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  RandomIdGenerator,
  type Sampler,
  SamplingDecision,
  TracerProvider,
  type TracerProviderOptions,
} from "@opentelemetry/sdk-trace";
import { ToolgateError } from "../domain/core/errors.ts";
import type { Span, SpanAttributes, SpanKind, TraceContext, Tracer } from "../domain/core/span.ts";

/** Longest attribute, characters. */
const MAX_TEXT = 256;

const KINDS = { internal: Kind.INTERNAL, server: Kind.SERVER, client: Kind.CLIENT } as const;
const PROPAGATOR = new W3CTraceContextPropagator();

/** Traces by OpenTelemetry's SDK, of sampled requests only: for others it takes ten times as long. */
export class OtelTracer implements Tracer {
  readonly #sampler: Sampler;
  readonly #storage = new AsyncLocalStorage<Span>();
  readonly #ids = new RandomIdGenerator();
  readonly #tracer: SdkTracer;
  /** Of the next trace that starts here. */
  #traceId = "";

  constructor(sampler: Sampler, options: TracerProviderOptions, version: string | undefined) {
    this.#sampler = sampler;
    const provider = new TracerProvider({
      ...options,
      sampler: { shouldSample: () => ({ decision: SamplingDecision.RECORD_AND_SAMPLED }) },
      spanLimits: { attributeValueLengthLimit: MAX_TEXT },
      idGenerator: {
        generateTraceId: () => this.#traceId,
        generateSpanId: () => this.#ids.generateSpanId(),
      },
    });
    this.#tracer = provider.getTracer("toolgate", version);
  }

  start(startTime: number, sent: TraceContext): Span {
    const context =
      sent.traceparent === undefined
        ? ROOT_CONTEXT
        : PROPAGATOR.extract(ROOT_CONTEXT, sent, defaultTextMapGetter);
    const { traceId, traceState } = trace.getSpanContext(context) ?? {
      traceId: this.#ids.generateTraceId(),
      traceState: undefined,
    };
    const { decision } = this.#sampler.shouldSample(context, traceId, "request", Kind.SERVER, {}, []);
    if (decision === SamplingDecision.RECORD_AND_SAMPLED) {
      this.#traceId = traceId;
      return this.#spanOf(this.#tracer.startSpan("request", { kind: Kind.SERVER, startTime }, context));
    }
    const spanId = this.#ids.generateSpanId();
    const unsampled = { traceId, spanId, traceFlags: TraceFlags.NONE, ...(traceState && { traceState }) };
    return this.#spanOf(trace.wrapSpanContext(unsampled));
  }

  current(): Span | undefined {
    return this.#storage.getStore();
  }

  #spanOf(span: SdkSpan): Span {
    return new OtelSpan(this.#tracer, this.#storage, span);
  }
}

/** A step. Of a trace that is not sampled, all steps are this one, and only its headers are sent on. */
class OtelSpan implements Span {
  readonly sampled: boolean;
  readonly #tracer: SdkTracer;
  readonly #storage: AsyncLocalStorage<Span>;
  readonly #span: SdkSpan;

  constructor(tracer: SdkTracer, storage: AsyncLocalStorage<Span>, span: SdkSpan) {
    this.#tracer = tracer;
    this.#storage = storage;
    this.#span = span;
    this.sampled = span.isRecording();
  }

  get traceId(): string {
    return this.#span.spanContext().traceId;
  }

  get headers(): Record<string, string> {
    const headers: Record<string, string> = {};
    PROPAGATOR.inject(this.#context, headers, defaultTextMapSetter);
    return headers;
  }

  get #context(): Context {
    return trace.setSpan(ROOT_CONTEXT, this.#span);
  }

  /** Of a step that has ended, the step itself. */
  child(name: string, attributes: SpanAttributes = {}, kind: SpanKind = "internal"): Span {
    if (!this.#span.isRecording()) return this;
    const options = { kind: KINDS[kind], attributes, startTime: performance.now() };
    const span = this.#tracer.startSpan(name, options, this.#context);
    return new OtelSpan(this.#tracer, this.#storage, span);
  }

  set(attributes: SpanAttributes, name?: string): void {
    if (!this.#span.isRecording()) return;
    this.#span.setAttributes(attributes);
    if (name !== undefined) this.#span.updateName(name);
  }

  link(other: Span): void {
    if (!(other instanceof OtelSpan) || other === this || !other.sampled || !this.#span.isRecording()) return;
    this.#span.addLink({ context: other.#span.spanContext() });
  }

  run<Result>(work: () => Result): Result {
    return this.#storage.run(this, work);
  }

  end(error?: unknown): void {
    if (!this.#span.isRecording()) return;
    if (error !== undefined)
      this.#span.setAttribute("error.type", errorType(error)).setStatus({ code: SpanStatusCode.ERROR });
    this.#span.end(performance.now());
  }
}

function errorType(error: unknown): string {
  if (error instanceof ToolgateError) return error.code;
  if (typeof error === "string") return error;
  return error instanceof Error ? error.name : "_OTHER";
}
