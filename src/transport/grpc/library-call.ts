import type { IncomingHttpHeaders } from "node:http";
import { Metadata, type sendUnaryData, type ServerUnaryCall, type StatusObject } from "@grpc/grpc-js";
import type { Header } from "../headers.ts";
import { DISCONNECTED } from "../limits.ts";
import { tooLarge } from "./message-reader.ts";
import type { AnswerableCall } from "./unary-call.ts";

/**
 * A unary call through the public API of grpc-js, which has read the message and enforces the deadline. Used
 * with versions of grpc-js whose private members are not known.
 */
export class LibraryCall implements AnswerableCall {
  readonly #call: ServerUnaryCall<Buffer, Buffer>;
  readonly #respond: sendUnaryData<Buffer>;
  readonly #aborting = new AbortController();
  #isAnswered = false;

  constructor(call: ServerUnaryCall<Buffer, Buffer>, respond: sendUnaryData<Buffer>) {
    this.#call = call;
    this.#respond = respond;
    // Also emitted after the response.
    call.once("cancelled", () => {
      if (this.#isAnswered) return;
      const isLate = Number(call.getDeadline()) <= Date.now();
      this.#aborting.abort(
        isLate
          ? new DOMException("the deadline passed", "TimeoutError")
          : new DOMException("the caller cancelled", "AbortError"),
      );
    });
  }

  get signal(): AbortSignal {
    return this.#aborting.signal;
  }

  /** Metadata as headers; repeated values are joined. */
  get headers(): IncomingHttpHeaders {
    const sent = Object.entries(this.#call.metadata.toHttp2Headers());
    return Object.fromEntries(sent.map(([name, values]) => [name, String(values)]));
  }

  /** The address without its port, which grpc-js adds. */
  get peer(): string {
    return this.#call
      .getPeer()
      .replace(/:\d+$/, "")
      .replace(/^\[(.*)\]$/, "$1");
  }

  onUnanswered(report: (status: number) => void): void {
    this.#call.once("cancelled", () => void (this.#isAnswered || report(DISCONNECTED)));
  }

  read(limit: number): Buffer {
    if (this.#call.request.length > limit) throw tooLarge(limit);
    return this.#call.request;
  }

  respond(message: Uint8Array, headers: readonly Header[]): void {
    this.#isAnswered = true;
    const metadata = new Metadata();
    for (const [name, value] of headers) metadata.set(name, value);
    this.#call.sendMetadata(metadata);
    this.#respond(null, Buffer.from(message.buffer, message.byteOffset, message.byteLength));
  }

  fail(failed: StatusObject): void {
    this.#isAnswered = true;
    this.#respond(failed);
  }
}
