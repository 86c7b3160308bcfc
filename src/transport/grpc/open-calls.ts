import { constants } from "node:http2";
import {
  type Metadata,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  status,
} from "@grpc/grpc-js";
import { ResponseMetadata } from "./response-metadata.ts";
import type { CallAuthenticator } from "./call-authenticator.ts";
import { streamOf } from "./call-internals.ts";
import { TrackedCall, markWaiting, type OpenCall } from "./tracked-call.ts";
import { excessCalls, type KeylessLimits } from "./excess-calls.ts";

type Method = Parameters<ServerInterceptor>[0];

/** Limits of a call; times in ms. */
export interface CallLimits {
  /** For the whole request; between the messages of a stream. */
  readonly requestMs: number;
  /** For the client to read a response message. */
  readonly answerMs: number;
  /** For calls without a key that wait for their client. */
  readonly keyless: KeylessLimits;
}

/** Calls without a key may wait this long before the limit per connection applies, ms. */
const WAIT_GRACE_MS = 1_000;

const LATE = { code: status.DEADLINE_EXCEEDED, details: "the request did not arrive in time" };
const TOO_MANY = {
  code: status.RESOURCE_EXHAUSTED,
  details: "too many calls without an API key wait for their client",
};
const NO_HEADERS = new ResponseMetadata([]);

/**
 * Tracks open calls: ends those that wait too long for their client, and excess calls without a key. grpc-js
 * only enforces deadlines that clients send.
 */
export class OpenCalls {
  readonly #limits: CallLimits;
  readonly #authenticator: CallAuthenticator;
  readonly #open = new Set<OpenCall>();
  readonly #keyless = new Set<OpenCall>();
  #timer: NodeJS.Timeout | undefined;
  #trimming = false;

  constructor(limits: CallLimits, heads: CallAuthenticator) {
    this.#limits = limits;
    this.#authenticator = heads;
  }

  /** Must be the server's only interceptor: it reads private members of grpc-js's call. */
  readonly interceptor: ServerInterceptor = (method, call) => this.#track(method, call);

  #track(
    { path, requestStream, responseStream }: Method,
    call: ServerInterceptingCallInterface,
  ): TrackedCall {
    const streaming = requestStream || responseStream;
    const open: OpenCall = {
      call,
      stream: streamOf(call),
      streaming,
      requested: false,
      waitsFor: "gateway",
      since: performance.now(),
    };
    return new TrackedCall(open, {
      start: (next) => {
        this.#add(open);
        next({
          onReceiveMetadata: (metadata, go) => void this.#check(path, open, metadata, go),
          onReceiveMessage(message, go) {
            if (streaming) markWaiting(open, "gateway");
            go(message);
          },
          onReceiveHalfClose(go) {
            open.requested = true;
            if (open.waitsFor === "request") markWaiting(open, "gateway");
            go();
          },
          // Also called after a completed call.
          onCancel: () => this.#ended(open),
        });
      },
      sendMetadata: (metadata, go) => go(metadata instanceof ResponseMetadata ? metadata : NO_HEADERS),
      sendMessage: (message, go) => {
        markWaiting(open, "reader");
        if (this.#keyless.has(open)) this.#trimSoon();
        go(message);
      },
    });
  }

  async #check(
    path: string,
    open: OpenCall,
    metadata: Metadata,
    go: (metadata: Metadata) => void,
  ): Promise<void> {
    const verdict = await this.#authenticator.check(path, open.call, metadata);
    // Cancelled during the check.
    if (!this.#open.has(open)) return;
    if ("refusal" in verdict) return open.call.sendStatus(verdict.refusal);
    markWaiting(open, "request");
    if (verdict.keyless) {
      this.#keyless.add(open);
      this.#trimSoon();
    }
    go(metadata);
  }

  #add(open: OpenCall): void {
    this.#open.add(open);
    const { requestMs, answerMs } = this.#limits;
    this.#timer ??= setInterval(
      () => this.#sweep(),
      Math.min(requestMs / 4, answerMs / 4, WAIT_GRACE_MS),
    ).unref();
  }

  #sweep(): void {
    const now = performance.now();
    const { requestMs, answerMs, keyless } = this.#limits;
    for (const open of this.#open) {
      const age = now - open.since;
      // grpc-js does not report the cancellation of a call that has not started.
      if (open.stream.destroyed) this.#remove(open);
      else if (open.waitsFor === "request" && age > requestMs) open.call.sendStatus(LATE);
      else if (open.waitsFor === "reader" && age > answerMs) open.stream.close(constants.NGHTTP2_CANCEL);
    }
    const held = this.#waitingKeyless().filter(({ since }) => now - since > WAIT_GRACE_MS);
    for (const open of excessCalls(held, { ...keyless, total: Infinity })) end(open);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Watch and reflection streams always wait for their client. */
  #waitingKeyless(): OpenCall[] {
    return [...this.#keyless].filter(({ streaming, waitsFor }) => streaming || waitsFor !== "gateway");
  }

  /**
   * Runs after buffered data is read: by then a call with its whole request no longer waits for its client.
   */
  #trimSoon(): void {
    const { total } = this.#limits.keyless;
    if (this.#trimming || this.#keyless.size <= total) return;
    this.#trimming = true;
    setImmediate(() => {
      this.#trimming = false;
      for (const open of excessCalls(this.#waitingKeyless(), { perConnection: Infinity, total })) end(open);
    });
  }

  #remove(open: OpenCall): void {
    this.#open.delete(open);
    this.#keyless.delete(open);
  }

  #ended(open: OpenCall): void {
    this.#remove(open);
    // The response is sent before the whole request has arrived: closes the half-open stream afterwards.
    if (!open.requested) setImmediate(() => open.stream.close(constants.NGHTTP2_NO_ERROR));
  }
}

function end({ call, stream }: OpenCall): void {
  if (stream.headersSent) stream.close(constants.NGHTTP2_CANCEL);
  else call.sendStatus(TOO_MANY);
}
