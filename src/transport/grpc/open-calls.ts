import { constants } from "node:http2";
import {
  type Metadata,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  status,
} from "@grpc/grpc-js";
import { AnswerHead } from "./response-metadata.ts";
import type { CallHeads } from "./call-authenticator.ts";
import { streamOf } from "./call-internals.ts";
import { FollowedCall, wait, type OpenCall } from "./tracked-call.ts";
import { surplus, type Most } from "./excess-calls.ts";

type Method = Parameters<ServerInterceptor>[0];

/** What callers may take; times in ms. */
export interface CallLimits {
  /** For a request, from the first byte to the end; between the messages of a stream. */
  readonly requestMs: number;
  /** For a message of the answer, once that is there. */
  readonly answerMs: number;
  /** How many calls without a key may wait for their caller. */
  readonly keyless: Most;
}

/** Calls without a key that wait for less than this are not counted by connection: many may be asked at once, ms. */
const HELD_MS = 1_000;

const LATE = { code: status.DEADLINE_EXCEEDED, details: "the request did not arrive in time" };
const SURPLUS = {
  code: status.RESOURCE_EXHAUSTED,
  details: "too many calls without an API key wait for their caller",
};
const NO_HEADERS = new AnswerHead([]);

/**
 * The calls under way, none of which may wait for its caller for ever, and few without a key at once. grpc-js ends calls by the
 * deadlines that callers send, and by no others.
 */
export class OpenCalls {
  readonly #limits: CallLimits;
  readonly #heads: CallHeads;
  readonly #open = new Set<OpenCall>();
  readonly #keyless = new Set<OpenCall>();
  #timer: NodeJS.Timeout | undefined;
  #trimming = false;

  constructor(limits: CallLimits, heads: CallHeads) {
    this.#limits = limits;
    this.#heads = heads;
  }

  /** For the server's options; must be the only one, as it looks into grpc-js's own call. */
  readonly interceptor: ServerInterceptor = (method, call) => this.#follow(method, call);

  #follow(
    { path, requestStream, responseStream }: Method,
    call: ServerInterceptingCallInterface,
  ): FollowedCall {
    const streaming = requestStream || responseStream;
    const open: OpenCall = {
      call,
      stream: streamOf(call),
      streaming,
      requested: false,
      waitsFor: "gateway",
      since: performance.now(),
    };
    return new FollowedCall(open, {
      start: (next) => {
        this.#add(open);
        next({
          onReceiveMetadata: (metadata, go) => void this.#check(path, open, metadata, go),
          onReceiveMessage(message, go) {
            if (streaming) wait(open, "gateway");
            go(message);
          },
          onReceiveHalfClose(go) {
            open.requested = true;
            if (open.waitsFor === "request") wait(open, "gateway");
            go();
          },
          // Comes once the answer was taken, too.
          onCancel: () => this.#ended(open),
        });
      },
      sendMetadata: (metadata, go) => go(metadata instanceof AnswerHead ? metadata : NO_HEADERS),
      sendMessage: (message, go) => {
        wait(open, "reader");
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
    const verdict = await this.#heads.check(path, open.call, metadata);
    // Cancelled meanwhile.
    if (!this.#open.has(open)) return;
    if ("refusal" in verdict) return open.call.sendStatus(verdict.refusal);
    wait(open, "request");
    if (verdict.keyless) {
      this.#keyless.add(open);
      this.#trimSoon();
    }
    go(metadata);
  }

  #add(open: OpenCall): void {
    this.#open.add(open);
    const { requestMs, answerMs } = this.#limits;
    this.#timer ??= setInterval(() => this.#look(), Math.min(requestMs / 4, answerMs / 4, HELD_MS)).unref();
  }

  #look(): void {
    const now = performance.now();
    const { requestMs, answerMs, keyless } = this.#limits;
    for (const open of this.#open) {
      const age = now - open.since;
      // A call that was cancelled before it started is not notified of it.
      if (open.stream.destroyed) this.#forget(open);
      else if (open.waitsFor === "request" && age > requestMs) open.call.sendStatus(LATE);
      else if (open.waitsFor === "reader" && age > answerMs) open.stream.close(constants.NGHTTP2_CANCEL);
    }
    const held = this.#held().filter(({ since }) => now - since > HELD_MS);
    for (const open of surplus(held, { ...keyless, inAll: Infinity })) end(open);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Calls without a key that wait for their caller; watches and reflection always do. */
  #held(): OpenCall[] {
    return [...this.#keyless].filter(({ streaming, waitsFor }) => streaming || waitsFor !== "gateway");
  }

  /** After what has arrived was read: a call that came as a whole waits for the gateway by then. */
  #trimSoon(): void {
    const { inAll } = this.#limits.keyless;
    if (this.#trimming || this.#keyless.size <= inAll) return;
    this.#trimming = true;
    setImmediate(() => {
      this.#trimming = false;
      for (const open of surplus(this.#held(), { perConnection: Infinity, inAll })) end(open);
    });
  }

  #forget(open: OpenCall): void {
    this.#open.delete(open);
    this.#keyless.delete(open);
  }

  #ended(open: OpenCall): void {
    this.#forget(open);
    // Answered before it was asked: a stream whose other half is open would stay. The answer goes first.
    if (!open.requested) setImmediate(() => open.stream.close(constants.NGHTTP2_NO_ERROR));
  }
}

function end({ call, stream }: OpenCall): void {
  if (stream.headersSent) stream.close(constants.NGHTTP2_CANCEL);
  else call.sendStatus(SURPLUS);
}
