import type { ServerUnaryCall } from "@grpc/grpc-js";

/** The AbortSignal of a gRPC call: aborts on cancellation, disconnect or deadline. */
export class CallSignal {
  readonly #controller = new AbortController();
  #answered = false;

  constructor(call: ServerUnaryCall<Buffer, Buffer>) {
    call.on("cancelled", () => {
      // The event also follows completed calls; aborting then would only cost an exception.
      if (!this.#answered) this.#controller.abort(reasonOf(call));
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Call after the response is sent. */
  answered(): void {
    this.#answered = true;
  }
}

/** Timers may fire a millisecond early. */
const EARLY_MS = 1;

function reasonOf(call: ServerUnaryCall<Buffer, Buffer>): DOMException {
  const late = Date.now() + EARLY_MS >= Number(call.getDeadline());
  return late
    ? new DOMException("the deadline passed", "TimeoutError")
    : new DOMException("the caller cancelled", "AbortError");
}
