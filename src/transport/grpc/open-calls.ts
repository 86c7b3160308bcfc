import { constants } from "node:http2";
import {
  Metadata,
  type Responder,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  status,
  type StatusObject,
} from "@grpc/grpc-js";
import type { RequestRecorder } from "../../app/operations/request-record.ts";
import { DISCONNECTED, KEYLESS_MESSAGE_LIMIT } from "../limits.ts";
import { encodingOf, readWith, streamOf } from "./call-internals.ts";
import { excessCalls, type KeylessLimits } from "./excess-calls.ts";
import { MessageReader, requireIdentity } from "./message-reader.ts";
import { type OpenCall, markWaiting } from "./open-call.ts";
import { httpStatusOf, IDENTITY } from "./status.ts";

type Method = Parameters<ServerInterceptor>[0];

/** Limits of a call; times in ms. */
export interface CallLimits {
  /** For the whole request; between the messages of a stream. */
  readonly requestMs: number;
  /** For the small request of a unary call without a key. */
  readonly keylessRequestMs: number;
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
/** grpc-js would offer gzip, which this server rejects. */
const NO_HEADERS = new Metadata();
NO_HEADERS.set(...IDENTITY);

/** Ends calls that wait too long for their client, and excess calls without a key. */
export class OpenCalls {
  readonly #limits: CallLimits;
  readonly #refusal: (thrown: unknown) => StatusObject;
  readonly #requests: RequestRecorder;
  /** No Set, which would promote each call: see OpenResponses. */
  readonly #open: OpenCall[] = [];
  readonly #keyless = new Set<OpenCall>();
  #timer: NodeJS.Timeout | undefined;
  #trimming = false;

  /** @param refusal maps a thrown value to a status */
  constructor(limits: CallLimits, refusal: (thrown: unknown) => StatusObject, requests: RequestRecorder) {
    this.#limits = limits;
    this.#requests = requests;
    this.#refusal = refusal;
  }

  /** Tracks calls without a key. Must be the only interceptor: it reads private members of grpc-js. */
  readonly interceptor: ServerInterceptor = (method, call) => this.#track(method, call);

  #track(
    { path, requestStream, responseStream }: Method,
    call: ServerInterceptingCallInterface,
  ): ServerInterceptingCall {
    const streaming = requestStream || responseStream;
    const record = this.#requests.start("grpc", "");
    // grpc-js calls this for the methods that it knows, so the caller does not choose the name.
    record.method = path.slice(path.lastIndexOf(".") + 1);
    const open: OpenCall = {
      place: undefined,
      stream: streamOf(call),
      streaming,
      requested: false,
      waitsFor: "gateway",
      since: performance.now(),
      sendStatus: (ended) => call.sendStatus(ended),
    };
    return new TrackedCall(open, call, {
      start: (next) => {
        this.add(open);
        next({
          onReceiveMetadata: (metadata, go) => {
            try {
              requireIdentity(encodingOf(call));
            } catch (error) {
              return call.sendStatus(this.#refusal(error));
            }
            readWith(call, new MessageReader(KEYLESS_MESSAGE_LIMIT));
            this.accepted(open, true);
            go(metadata);
          },
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
          onCancel: () => {
            this.ended(open);
            this.#requests.end(record, DISCONNECTED);
          },
        });
      },
      sendMetadata: (_metadata, go) => go(NO_HEADERS),
      sendMessage: (message, go) => {
        this.answering(open);
        go(message);
      },
      sendStatus: (ended, go) => {
        go(ended);
        this.#requests.end(record, httpStatusOf(ended.code));
      },
    });
  }

  add(open: OpenCall): void {
    open.place = this.#open.push(open) - 1;
    const { requestMs, keylessRequestMs, answerMs } = this.#limits;
    this.#timer ??= setInterval(
      () => this.#sweep(),
      Math.min(requestMs / 4, keylessRequestMs / 4, answerMs / 4, WAIT_GRACE_MS),
    ).unref();
  }

  /** Its headers are accepted, and it waits for its request. */
  accepted(open: OpenCall, keyless: boolean): void {
    // Cancelled during the check.
    if (open.place === undefined) return;
    markWaiting(open, "request");
    if (!keyless) return;
    this.#keyless.add(open);
    this.#trimSoon();
  }

  answering(open: OpenCall): void {
    markWaiting(open, "reader");
    if (this.#keyless.has(open)) this.#trimSoon();
  }

  /** It is answered or cancelled; may be called again. */
  ended(open: OpenCall): void {
    this.#remove(open);
    // The response came before the whole request: closes the half-open stream after the response is sent.
    if (!open.requested) setImmediate(() => open.stream.close(constants.NGHTTP2_NO_ERROR));
  }

  #sweep(): void {
    const now = performance.now();
    const { answerMs, keyless } = this.#limits;
    for (const open of this.#open.slice()) {
      const age = now - open.since;
      // grpc-js does not report the cancellation of a call that has not started.
      if (open.stream.destroyed) this.#remove(open);
      else if (open.waitsFor === "request" && age > this.#requestMs(open)) open.sendStatus(LATE);
      else if (open.waitsFor === "reader" && age > answerMs) open.stream.close(constants.NGHTTP2_CANCEL);
    }
    const held = this.#waitingKeyless().filter(({ since }) => now - since > WAIT_GRACE_MS);
    for (const open of excessCalls(held, { ...keyless, total: Infinity })) end(open);
    if (this.#open.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #requestMs(open: OpenCall): number {
    const { requestMs, keylessRequestMs } = this.#limits;
    return this.#keyless.has(open) && !open.streaming ? Math.min(requestMs, keylessRequestMs) : requestMs;
  }

  /** Watch and reflection streams always wait for their client. */
  #waitingKeyless(): OpenCall[] {
    return [...this.#keyless].filter(({ streaming, waitsFor }) => streaming || waitsFor !== "gateway");
  }

  /** Runs after buffered data is read: a call with its whole request no longer waits for its client. */
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
    this.#keyless.delete(open);
    if (open.place === undefined) return;
    const last = this.#open.pop();
    if (last && last !== open) this.#open[(last.place = open.place)] = last;
    open.place = undefined;
  }
}

function end(open: OpenCall): void {
  if (open.stream.headersSent) open.stream.close(constants.NGHTTP2_CANCEL);
  else open.sendStatus(TOO_MANY);
}

/** A call of grpc-js that records when the client has read a message. */
class TrackedCall extends ServerInterceptingCall {
  readonly #open: OpenCall;

  constructor(open: OpenCall, call: ServerInterceptingCallInterface, responder: Responder) {
    super(call, responder);
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
