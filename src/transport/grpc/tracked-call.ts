import type { ServerHttp2Stream } from "node:http2";
import { type Responder, ServerInterceptingCall, type ServerInterceptingCallInterface } from "@grpc/grpc-js";

/** A call under way. */
export interface OpenCall {
  readonly call: ServerInterceptingCallInterface;
  readonly stream: ServerHttp2Stream;
  /** Whether one side sends a stream of messages. */
  readonly streaming: boolean;
  /** Whether all of the request has arrived. */
  requested: boolean;
  waitsFor: "request" | "gateway" | "reader";
  /** Since when it waits for that, ms; monotonic. */
  since: number;
}

/** Notes what a call waits for from now on. */
export function markWaiting(open: OpenCall, waitsFor: OpenCall["waitsFor"]): void {
  open.waitsFor = waitsFor;
  open.since = performance.now();
}

/** A call that notices when its messages were taken. */
export class TrackedCall extends ServerInterceptingCall {
  readonly #open: OpenCall;

  constructor(open: OpenCall, responder: Responder) {
    super(open.call, responder);
    this.#open = open;
  }

  override sendMessage(message: unknown, taken: () => void): void {
    super.sendMessage(message, () => {
      // The answer of a unary call is taken with its trailers.
      if (this.#open.streaming) markWaiting(this.#open, this.#open.requested ? "gateway" : "request");
      taken();
    });
  }
}
