import type { ServerUnaryCall } from "@grpc/grpc-js";

/** The AbortSignal of a gRPC call: aborts when the caller cancels or disconnects, or when the call's deadline passes. */
export class CallSignal {
  readonly #controller = new AbortController();
  #answered = false;

  constructor(call: ServerUnaryCall<Buffer, Buffer>) {
    call.on("cancelled", () => {
      // The event also follows every call that was answered; an abort would then only cost an exception for nobody.
      if (!this.#answered) this.#controller.abort(reasonOf(call));
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Call once the answer is on its way. */
  answered(): void {
    this.#answered = true;
  }
}

/** Timers may fire a millisecond early, by the clock that the deadline was computed with. */
const EARLY_MS = 1;

function reasonOf(call: ServerUnaryCall<Buffer, Buffer>): DOMException {
  const late = Date.now() + EARLY_MS >= Number(call.getDeadline());
  return late
    ? new DOMException("the deadline passed", "TimeoutError")
    : new DOMException("the caller cancelled", "AbortError");
}
