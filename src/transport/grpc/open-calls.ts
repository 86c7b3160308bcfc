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

/** What callers may take; times in ms. */
export interface CallLimits {
  /** For a request, from the first byte to the end; between the messages of a stream. */
  readonly requestMs: number;
  /** For a message of the answer, once that is there. */
  readonly answerMs: number;
  /** How many calls without a key may wait for their caller. */
  readonly keyless: KeylessLimits;
}

/** Calls without a key that wait for less than this are not counted by connection: many may be asked at once, ms. */
const WAIT_GRACE_MS = 1_000;

const LATE = { code: status.DEADLINE_EXCEEDED, details: "the request did not arrive in time" };
const TOO_MANY = {
  code: status.RESOURCE_EXHAUSTED,
  details: "too many calls without an API key wait for their caller",
};
const NO_HEADERS = new ResponseMetadata([]);

/**
 * The calls under way, none of which may wait for its caller for ever, and few without a key at once. grpc-js ends calls by the
 * deadlines that callers send, and by no others.
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

  /** For the server's options; must be the only one, as it looks into grpc-js's own call. */
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
          // Comes once the answer was taken, too.
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
    // Cancelled meanwhile.
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
      // A call that was cancelled before it started is not notified of it.
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

  /** Calls without a key that wait for their caller; watches and reflection always do. */
  #waitingKeyless(): OpenCall[] {
    return [...this.#keyless].filter(({ streaming, waitsFor }) => streaming || waitsFor !== "gateway");
  }

  /** After what has arrived was read: a call that came as a whole waits for the gateway by then. */
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
    // Answered before it was asked: a stream whose other half is open would stay. The answer goes first.
    if (!open.requested) setImmediate(() => open.stream.close(constants.NGHTTP2_NO_ERROR));
  }
}

function end({ call, stream }: OpenCall): void {
  if (stream.headersSent) stream.close(constants.NGHTTP2_CANCEL);
  else call.sendStatus(TOO_MANY);
}
