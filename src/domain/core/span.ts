/** Values of OTEL_TRACES_SAMPLER. */
export const SAMPLERS = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;

export type SamplerName = (typeof SAMPLERS)[number];

/**
 * Values that describe a step, named as OpenTelemetry's semantic conventions. Never secrets, parameters or
 * results.
 */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | string[] | undefined>>;

/** Who waits for whom: a server for its caller's request, a client for a server. */
export type SpanKind = "internal" | "server" | "client";

/** Headers of W3C Trace Context, as sent. */
export interface TraceContext {
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

/**
 * A step of a request. Undefined stands for it where nothing is traced: optional calls then evaluate no
 * argument.
 */
export interface Span {
  /** 32 hex digits. */
  readonly traceId: string;
  /** Whether the trace is exported: decided once for the whole trace. */
  readonly sampled: boolean;
  /** Headers for servers that this step calls (W3C Trace Context). */
  readonly headers: Readonly<Record<string, string>>;
  child(name: string, attributes?: SpanAttributes, kind?: SpanKind): Span;
  /** Adds what became known. @param name replaces the name */
  set(attributes: SpanAttributes, name?: string): void;
  /** Refers to a step that is shared with other traces. */
  link(other: Span): void;
  /** Runs the function so that the tracer's `current` is this step, also after it awaits. */
  run<Result>(work: () => Result): Result;
  /** Ends the step. @param error why it failed; its message is not recorded */
  end(error?: unknown): void;
}

/** Starts traces, and continues those of callers. */
export interface Tracer {
  /** @param at when it started, by `performance.now()` @param parent as sent; ignored if malformed */
  start(at: number, parent: TraceContext): Span;
  /** The step that {@link Span.run} runs; undefined elsewhere. */
  current(): Span | undefined;
}

/** Runs the work as a step, which ends with it. */
export async function inSpan<Result>(
  span: Span | undefined,
  work: (span: Span | undefined) => Promise<Result>,
): Promise<Result> {
  if (!span) return work(undefined);
  try {
    const result = await work(span);
    span.end();
    return result;
  } catch (error) {
    span.end(error);
    throw error;
  }
}
