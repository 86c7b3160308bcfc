import { constants, type ServerHttp2Stream } from "node:http2";
import {
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  status,
} from "@grpc/grpc-js";

/** How long a caller may take, ms. */
export interface CallLimits {
  /** For its request, from the first byte to the end. */
  readonly requestMs: number;
  /** For the answer, once that is there. */
  readonly answerMs: number;
}

const LATE = { code: status.DEADLINE_EXCEEDED, details: "the request did not arrive in time" };

/** A call under way. */
interface OpenCall {
  readonly call: ServerInterceptingCallInterface;
  waitsFor: "request" | "gateway" | "reader";
  /** Since when it waits for that, ms; by a clock that only goes on. */
  since: number;
}

/**
 * The unary calls under way, of which none may wait for its caller for ever. grpc-js ends calls by the deadlines that callers send,
 * and by no others. Streaming methods send little, and last as long as their connection may.
 */
export class OpenCalls {
  readonly #limits: CallLimits;
  readonly #open = new Set<OpenCall>();
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: CallLimits) {
    this.#limits = limits;
  }

  /** For the server's options. */
  readonly interceptor: ServerInterceptor = ({ requestStream, responseStream }, call) =>
    requestStream || responseStream ? new ServerInterceptingCall(call) : this.#follow(call);

  #follow(call: ServerInterceptingCallInterface): ServerInterceptingCall {
    const open: OpenCall = { call, waitsFor: "request", since: performance.now() };
    return new ServerInterceptingCall(call, {
      start: (next) => {
        this.#add(open);
        next({
          onReceiveHalfClose(go) {
            open.waitsFor = "gateway";
            go();
          },
          // Comes once the answer was taken, too.
          onCancel: () => this.#ended(open),
        });
      },
      sendMessage(message, go) {
        open.waitsFor = "reader";
        open.since = performance.now();
        go(message);
      },
    });
  }

  #add(open: OpenCall): void {
    this.#open.add(open);
    const { requestMs, answerMs } = this.#limits;
    this.#timer ??= setInterval(() => this.#look(), Math.min(requestMs, answerMs) / 4).unref();
  }

  #look(): void {
    const now = performance.now();
    const { requestMs, answerMs } = this.#limits;
    for (const open of this.#open) {
      const age = now - open.since;
      if (open.waitsFor === "request" && age > requestMs) open.call.sendStatus(LATE);
      else if (open.waitsFor === "reader" && age > answerMs) streamOf(open.call)?.close(constants.NGHTTP2_CANCEL);
    }
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #ended(open: OpenCall): void {
    this.#open.delete(open);
    // Answered before it was asked: a stream whose other half is open would stay. The answer goes first.
    if (open.waitsFor === "request") setImmediate(() => streamOf(open.call)?.close(constants.NGHTTP2_NO_ERROR));
  }
}

/** The stream of a call, which grpc-js has no word to end by. */
function streamOf(call: ServerInterceptingCallInterface): ServerHttp2Stream | undefined {
  const stream: unknown = Reflect.get(call, "stream");
  return isStream(stream) ? stream : undefined;
}

function isStream(value: unknown): value is ServerHttp2Stream {
  return typeof value === "object" && value !== null && "close" in value && typeof value.close === "function";
}
