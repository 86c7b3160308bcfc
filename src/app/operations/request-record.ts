import type { Caller } from "../../domain/accounts/caller.ts";
import type { Clock } from "../../domain/core/clock.ts";
import type { CallRecord } from "../../domain/calls/call-context.ts";
import type { Span, TraceContext, Tracer } from "../../domain/core/span.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { ToolgateError } from "../../domain/core/errors.ts";

export type Transport = "http" | "openai" | "anthropic" | "mcp" | "grpc" | "connect" | "console";

/** The method or tool of a request that names none of ours: callers must not choose the values of labels. */
export const OTHER = "other";

/** One request on any transport, filled in while it is served: what metrics, logs and traces report. */
export class RequestRecord implements CallRecord {
  readonly transport: Transport;
  /** `req_…`; empty for documents, probes, pages and the services of gRPC itself */
  readonly requestId: string;
  /** By the recorder's clock, ms. */
  readonly startedAt: number;
  /** `Service/Method` of the contract, a method of MCP or the path of a document; not the caller's text. */
  method = OTHER;
  /** Method and path template of HTTP, such as `GET /receipts/{receipt_id}`; the path of gRPC. For traces. */
  route: string | undefined = undefined;
  /** Undefined where nothing is traced. */
  span: Span | undefined = undefined;
  caller: Caller | undefined = undefined;
  tool: string | undefined = undefined;
  runId: string | undefined = undefined;
  receiptId: string | undefined = undefined;
  charged: MicroUsd = 0n;
  params: JsonObject | undefined = undefined;
  result: JsonObject | undefined = undefined;
  /** The account or the address whose time it takes; undefined where none is taken. */
  payer: string | undefined = undefined;
  /** How many times the time of an address its payer has. */
  timeShare = 1;
  /** For how long the event loop did nothing else than this request, CPU ms. */
  workMs = 0;
  /** When the part of its work began that is not in {@link workMs} yet. */
  workSince: number | undefined = undefined;
  threadMs = 0;
  toolMs = 0;
  toolFailed = false;
  paymentMs = 0;
  /** The outcome's HTTP status on every transport; 499 when the client disconnected. 0 until it is known. */
  status = 0;
  /** The error's code; undefined for a success. */
  code: string | undefined = undefined;
  /** The error's message; undefined for a success. */
  message: string | undefined = undefined;
  /** Of the response's body. */
  bytes = 0;
  /** From arrival to response; 0 until the request ended. */
  ms = 0;

  constructor(transport: Transport, requestId: string, startedAt: number) {
    this.startedAt = startedAt;
    this.transport = transport;
    this.requestId = requestId;
  }

  /** Notes the outcome of a failed request. */
  failed({ status, code, message }: Pick<ToolgateError, "status" | "code"> & { message?: string }): void {
    this.status = status;
    this.code = code;
    this.message = message;
  }
}

/** Reports requests: metrics, a log, traces. */
export interface RequestObserver {
  /** Called once for each request, after its response was handed to the connection. Never throws. */
  ended(record: RequestRecord): void;
}

/** Headers or metadata of a request; a repeated one is not used. */
interface ReceivedHeaders {
  readonly [name: string]: string | string[] | undefined;
}

function contextOf({
  ["traceparent"]: traceparent,
  ["tracestate"]: tracestate,
}: ReceivedHeaders): TraceContext {
  return {
    traceparent: typeof traceparent === "string" ? traceparent : undefined,
    tracestate: typeof tracestate === "string" ? tracestate : undefined,
  };
}

/** Records the requests of every transport. */
export class RequestRecorder {
  readonly #observers: RequestObserver[];
  readonly #clock: Clock;
  readonly #tracer: Tracer | undefined;
  readonly #continues: boolean;

  /**
   * @param clock monotonic, with fractions of a millisecond
   * @param tracer undefined: nothing is traced
   * @param continues whether a caller's trace is continued; otherwise each request starts its own
   */
  constructor(observers: readonly RequestObserver[], clock: Clock, tracer?: Tracer, continues = false) {
    this.#observers = [...observers];
    this.#clock = clock;
    this.#tracer = tracer;
    this.#continues = continues;
  }

  observe(observer: RequestObserver): void {
    this.#observers.push(observer);
  }

  /** @param received may name the caller's trace; undefined: the request is not traced */
  start(transport: Transport, requestId: string, received?: ReceivedHeaders): RequestRecord {
    const record = new RequestRecord(transport, requestId, this.#clock.now());
    if (this.#tracer && received)
      record.span = this.#tracer.start(record.startedAt, contextOf(this.#continues ? received : {}));
    return record;
  }

  /** Starts a part of a request that is recorded as one of its own. */
  startPart({ transport, requestId, span, caller, payer, timeShare }: RequestRecord): RequestRecord {
    const record = new RequestRecord(transport, requestId, this.#clock.now());
    if (span) record.span = this.#tracer?.start(record.startedAt, contextOf(span.headers));
    return Object.assign(record, { caller, payer, timeShare });
  }

  /** Continues another trace than the one the request arrived with; its steps start afterwards. */
  continueTrace(record: RequestRecord, context: TraceContext): void {
    if (record.span && this.#tracer && this.#continues)
      record.span = this.#tracer.start(record.startedAt, context);
  }

  /** Reports a request, once. @param status used unless the outcome is known */
  end(record: RequestRecord, status: number, bytes = 0): void {
    if (record.ms > 0) return;
    record.ms = this.#clock.now() - record.startedAt;
    if (record.status === 0) record.status = status;
    record.bytes = bytes;
    for (const observer of this.#observers) observer.ended(record);
  }
}
