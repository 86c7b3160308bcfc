import type { ServerHttp2Stream } from "node:http2";
import { type Responder, ServerInterceptingCall, type ServerInterceptingCallInterface } from "@grpc/grpc-js";

export interface OpenCall {
  readonly call: ServerInterceptingCallInterface;
  readonly stream: ServerHttp2Stream;
  /** Whether either side streams messages. */
  readonly streaming: boolean;
  /** Whether the whole request has arrived. */
  requested: boolean;
  waitsFor: "request" | "gateway" | "reader";
  /** Start of the wait, ms; monotonic. */
  since: number;
}

/** Records what a call waits for. */
export function markWaiting(open: OpenCall, waitsFor: OpenCall["waitsFor"]): void {
  open.waitsFor = waitsFor;
  open.since = performance.now();
}

/** A call that records when the client has read a message. */
export class TrackedCall extends ServerInterceptingCall {
  readonly #open: OpenCall;

  constructor(open: OpenCall, responder: Responder) {
    super(open.call, responder);
    this.#open = open;
  }

  override sendMessage(message: unknown, taken: () => void): void {
    super.sendMessage(message, () => {
      // The response of a unary call is read together with its trailers.
      if (this.#open.streaming) markWaiting(this.#open, this.#open.requested ? "gateway" : "request");
      taken();
    });
  }
}
