import { AsyncLocalStorage } from "node:async_hooks";
import type { Random } from "../domain/core/clock.ts";
import type { Span, TraceContext, Tracer } from "../domain/core/span.ts";
import { RecordedSpan, UnsampledSpan, type EndedSpans, type SpanRecorder } from "./recorded-span.ts";
import type { Sampler } from "./sampler.ts";
import { parentOf } from "./trace-context.ts";

/** Hex digits of a trace's id, and of the ids drawn at once: small random reads are slow. */
const [TRACE_DIGITS, DRAWN_DIGITS] = [32, 6_144];

/**
 * Traces without OpenTelemetry's SDK, whose spans cost several times as much as a free call. The current step
 * is known only inside {@link Span.run}.
 */
export class RecordingTracer implements Tracer {
  readonly #sampler: Sampler;
  readonly #random: Random;
  readonly #recorder: SpanRecorder;
  #drawn = "";
  #used = 0;

  constructor(sampler: Sampler, random: Random, onEnd: EndedSpans) {
    this.#sampler = sampler;
    this.#random = random;
    this.#recorder = { storage: new AsyncLocalStorage(), onEnd, id: (digits) => this.#id(digits) };
  }

  start(startedAt: number, context: TraceContext): Span {
    const parent = parentOf(context);
    const traceId = parent?.traceId ?? this.#id(TRACE_DIGITS);
    const state = parent?.state ?? "";
    if (!this.#sampler(traceId, parent?.sampled)) return new UnsampledSpan(this.#recorder, traceId, state);
    const remote = parent && { spanId: parent.spanId, isRemote: true };
    const start = { traceId, parent: remote, name: "request", kind: "server", startedAt } as const;
    return new RecordedSpan(this.#recorder, start, state, {});
  }

  current(): Span | undefined {
    return this.#recorder.storage.getStore();
  }

  #id(digits: number): string {
    if (this.#used + digits > this.#drawn.length) {
      this.#drawn = Buffer.from(this.#random.bytes(DRAWN_DIGITS / 2)).toString("hex");
      this.#used = 0;
    }
    return this.#drawn.slice(this.#used, (this.#used += digits));
  }
}
