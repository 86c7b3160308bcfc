import type { JsonObject } from "@bufbuild/protobuf";
import type { Exchange } from "./exchange.ts";
import type { PaymentQuote, SignedPayment } from "./payment.ts";

export interface CallStep {
  readonly title: string;
  readonly exchange?: Exchange;
  readonly text?: string;
}

export interface ToolCall {
  readonly tool: string;
  readonly params: JsonObject;
}

export interface CallRecord {
  readonly call: ToolCall;
  readonly body: JsonObject;
  readonly key: string;
  readonly startedAt: Date;
  readonly steps: readonly CallStep[];
  /** Progress message; undefined while waiting for the user, or when finished. */
  readonly progress?: string | undefined;
  /** What a stream has sent so far. */
  readonly partial?: string;
  /** The quote to pay, until it is paid. */
  readonly quote?: PaymentQuote | undefined;
  /** The payment made; never paid a second time. */
  readonly payment?: SignedPayment | undefined;
  /** The last response to the call itself. */
  readonly lastExchange?: Exchange | undefined;
  readonly error?: unknown;
  /** Whether the request was sent and can be stopped. */
  readonly canStop?: boolean;
  /** Whether the result can be found again after a reload. */
  readonly recoverable?: boolean;
  /** Whether the page was reloaded since the call. */
  readonly restored?: boolean;
  /** Whether its result was shown before that reload. */
  readonly resultShown?: boolean;
}
