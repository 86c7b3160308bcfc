import type { Caller } from "../accounts/caller.ts";
import type { Span } from "../core/span.ts";
import type { MicroUsd } from "../core/money.ts";
import type { ProgressListener, ResultSink } from "../tools/tool.ts";

/** The payment of a call paid by proof. */
export interface StartPayment {
  /** Transaction, as on the receipt. */
  readonly txSignature: string;
  /** What was paid. */
  readonly quoted: MicroUsd;
}

/** What a use case notes about the request of a call, for metrics, logs and traces. */
export interface CallRecord {
  /** Who pays. */
  caller: Caller | undefined;
  /** A name of the catalogue. */
  tool: string | undefined;
  runId: string | undefined;
  receiptId: string | undefined;
  /** Step of the whole request; undefined where nothing is traced. */
  span: Span | undefined;
  /** Time in the tool, ms. */
  toolMs: number;
  /** Time in which the payment was looked up, waited for and credited, ms. */
  paymentMs: number;
}

/** The context of a request that a transport passes to a use case. */
export interface CallContext {
  readonly caller: Caller;
  /** `req_…`, or as a trusted proxy named it. */
  readonly requestId: string;
  /** Aborts when the caller disconnects or its deadline passes. */
  readonly signal: AbortSignal;
  /** Reports progress to the caller; undefined unless requested. */
  readonly progress?: ProgressListener | undefined;
  /** Receives the result in parts; undefined: it is only returned. */
  readonly output?: ResultSink | undefined;
  /** Called when the tool starts under its hold. */
  readonly onStart?: ((payment: StartPayment | undefined) => void) | undefined;
  readonly record?: CallRecord | undefined;
}
