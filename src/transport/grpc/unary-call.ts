import { type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { status, type StatusObject } from "@grpc/grpc-js";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { Header } from "../headers.ts";
import { MessageReader, PREFIX } from "./message-reader.ts";
import { DISCONNECTED } from "../limits.ts";
import { httpStatusOf } from "./status.ts";
import type { OpenCalls } from "./open-calls.ts";
import { markWaiting, type OpenCall } from "./open-call.ts";

/** Largest response message, bytes: the default limit of clients. */
export const MAX_SEND_BYTES = 4 * 1024 * 1024;

/** gRPC over HTTP/2, "Timeout". */
const TIMEOUT = /^(\d{1,8})([HMSmun])$/;
const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};
/** The longest of setTimeout. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;
/** Timers may fire a millisecond early. */
const EARLY_MS = 1;

const RESPONSE = { ":status": 200, "content-type": "application/grpc+proto" };
const UNCOMPRESSED = { "grpc-accept-encoding": "identity", "grpc-encoding": "identity" };
const TRAILERS = { "grpc-status": status.OK, "grpc-message": "OK" };

/** A unary call, however its request is read and its response is sent. */
export interface AnswerableCall {
  /** Aborts on cancellation, disconnect or deadline. */
  readonly signal: AbortSignal;
  /** Address of the connection. */
  readonly peer: string;
  /** @param report called with an HTTP status when the call ends before its request arrived */
  onUnanswered(report: (status: number) => void): void;
  /** Ends the call at its grpc-timeout. @throws ToolgateError INVALID_REQUEST */
  startTimeout?(headers: IncomingHttpHeaders): void;
  /** The headers are accepted, and the call waits for its request. */
  accepted?(keyless: boolean): void;
  /** Reads the request message. @throws ToolgateError for a message that is too large */
  read(limit: number): Buffer | Promise<Buffer>;
  /** Sends the response; nothing if the call has ended. */
  respond(message: Uint8Array, headers: readonly Header[]): void;
  /** Sends an error; nothing if the call has ended. */
  fail(failed: StatusObject): void;
}

/** A unary call on its HTTP/2 stream (gRPC over HTTP/2): grpc-js would take twice the CPU time. */
export class UnaryCall implements OpenCall, AnswerableCall {
  place: number | undefined;
  readonly stream: ServerHttp2Stream;
  readonly streaming = false;
  requested = false;
  waitsFor: OpenCall["waitsFor"] = "gateway";
  since = performance.now();
  readonly #calls: OpenCalls;
  readonly #aborting = new AbortController();
  #deadline = Infinity;
  #timer: NodeJS.Timeout | undefined;
  #unanswered: ((status: number) => void) | undefined;
  #ended = false;

  constructor(stream: ServerHttp2Stream, calls: OpenCalls) {
    this.stream = stream;
    this.#calls = calls;
    calls.add(this);
    // A close follows.
    stream.on("error", () => undefined);
    stream.on("close", () => {
      clearTimeout(this.#timer);
      calls.ended(this);
      if (!this.#ended) this.#abort();
      if (!this.requested) this.#unanswered?.(DISCONNECTED);
      // Node keeps closed streams until the next major collection, and with them what they refer to.
      for (const event of ["data", "end", "wantTrailers", "close"]) stream.removeAllListeners(event);
    });
  }

  onUnanswered(report: (status: number) => void): void {
    this.#unanswered = report;
  }

  accepted(keyless: boolean): void {
    this.#calls.accepted(this, keyless);
  }

  get peer(): string {
    return this.stream.session?.socket.remoteAddress ?? "";
  }

  get signal(): AbortSignal {
    return this.#aborting.signal;
  }

  startTimeout({ "grpc-timeout": timeout }: IncomingHttpHeaders): void {
    if (timeout === undefined) return;
    const [, digits, unit = ""] = TIMEOUT.exec(String(timeout)) ?? [];
    const ms = Number(digits) * (UNIT_MS[unit] ?? Number.NaN);
    if (Number.isNaN(ms)) {
      const problem = "grpc-timeout: must be at most eight digits and one of H, M, S, m, u, n";
      throw new ToolgateError("INVALID_REQUEST", problem);
    }
    this.#deadline = Date.now() + ms;
    const late = { code: status.DEADLINE_EXCEEDED, details: "Deadline exceeded" };
    this.#timer = setTimeout(() => this.sendStatus(late), Math.min(ms, MAX_TIMEOUT_MS));
  }

  /** Reads the message; never settles on disconnect. @throws ToolgateError: size, compression, number */
  read(limit: number): Promise<Buffer> {
    const { stream } = this;
    const reader = new MessageReader(limit);
    const messages: Buffer[] = [];
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    stream.on("data", (data: Buffer) => {
      try {
        messages.push(...reader.write(data));
        if (messages.length > 1) throw notOneMessage();
      } catch (error) {
        reject(error);
      }
    });
    stream.on("end", () => {
      this.requested = true;
      markWaiting(this, "gateway");
      const [message] = messages;
      if (message) resolve(message.subarray(PREFIX));
      else reject(notOneMessage());
    });
    return promise;
  }

  respond(message: Uint8Array, headers: readonly Header[]): void {
    const { stream } = this;
    if (message.length > MAX_SEND_BYTES) {
      const details = `the response is larger than ${MAX_SEND_BYTES} bytes`;
      return this.fail({ code: status.RESOURCE_EXHAUSTED, details });
    }
    if (!this.#end()) return;
    stream.respond(
      { ...RESPONSE, ...UNCOMPRESSED, ...Object.fromEntries(headers) },
      { waitForTrailers: true },
    );
    stream.on("wantTrailers", () => {
      stream.sendTrailers(TRAILERS);
      this.#calls.ended(this);
    });
    const framed = Buffer.allocUnsafe(PREFIX + message.length);
    framed[0] = 0;
    framed.writeUInt32BE(message.length, 1);
    framed.set(message, PREFIX);
    stream.end(framed);
  }

  fail({ code, details, metadata }: Pick<StatusObject, "code" | "details"> & Partial<StatusObject>): void {
    if (!this.#end()) return;
    const trailers = {
      "grpc-status": code,
      "grpc-message": encodeURI(details),
      ...metadata?.toHttp2Headers(),
    };
    this.stream.respond({ ...RESPONSE, ...trailers }, { endStream: true });
    // What still arrives is discarded.
    this.stream.removeAllListeners("data").resume();
    this.#calls.ended(this);
  }

  /** Ends a call that the service may still be working on. */
  sendStatus(ended: { readonly code: status; readonly details: string }): void {
    this.fail(ended);
    this.#abort();
    if (!this.requested) this.#unanswered?.(httpStatusOf(ended.code));
  }

  /** @returns whether the call could still be answered */
  #end(): boolean {
    if (this.#ended || this.stream.destroyed || this.stream.closed) return false;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#calls.answering(this);
    return true;
  }

  #abort(): void {
    const late = Date.now() + EARLY_MS >= this.#deadline;
    this.#aborting.abort(
      late
        ? new DOMException("the deadline passed", "TimeoutError")
        : new DOMException("the caller cancelled", "AbortError"),
    );
  }
}

function notOneMessage(): ToolgateError {
  return new ToolgateError("INVALID_REQUEST", "the request must be one message", { rpc: "UNIMPLEMENTED" });
}
