import type { Caller } from "../../domain/accounts/caller.ts";
import type { Clock } from "../../domain/core/clock.ts";
import type { CallRecord } from "../../domain/calls/call-context.ts";
import type { ToolgateError } from "../../domain/core/errors.ts";

/** Where a request arrived. */
export type Transport = "http" | "openai" | "mcp" | "grpc" | "connect" | "console";

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
  caller: Caller | undefined = undefined;
  tool: string | undefined = undefined;
  runId: string | undefined = undefined;
  receiptId: string | undefined = undefined;
  toolMs = 0;
  paymentMs = 0;
  /** The outcome's HTTP status on every transport; 499 when the client disconnected. 0 until it is known. */
  status = 0;
  /** The error's code; undefined for a success. */
  code: string | undefined = undefined;
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
  failed({ status, code }: Pick<ToolgateError, "status" | "code">): void {
    this.status = status;
    this.code = code;
  }
}

/** Reports requests: metrics, a log, traces. */
export interface RequestObserver {
  /** Called once for each request, after its response was handed to the connection. Never throws. */
  ended(record: RequestRecord): void;
}

/** Records the requests of every transport. */
export class RequestRecorder {
  readonly #observers: readonly RequestObserver[];
  readonly #clock: Clock;

  /** @param clock monotonic, with fractions of a millisecond */
  constructor(observers: readonly RequestObserver[], clock: Clock) {
    this.#observers = observers;
    this.#clock = clock;
  }

  start(transport: Transport, requestId: string): RequestRecord {
    return new RequestRecord(transport, requestId, this.#clock.now());
  }

  /**
   * Reports a request, once.
   * @param status used unless the outcome is known
   */
  end(record: RequestRecord, status: number, bytes = 0): void {
    if (record.ms > 0) return;
    record.ms = this.#clock.now() - record.startedAt;
    if (record.status === 0) record.status = status;
    record.bytes = bytes;
    for (const observer of this.#observers) observer.ended(record);
  }
}
