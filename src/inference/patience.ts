import type { Circumstances } from "./upstream-failure.ts";

/** How long a server may take, in ms. */
export interface TimeLimits {
  /** From the request to the end of the answer. */
  readonly timeoutMs: number;
  /** From one piece of a streamed answer to the next. The first one may take as long as the answer: models are loaded meanwhile. */
  readonly stallTimeoutMs: number;
}

/** Watches one request's time limits, and ends it when one has passed or nobody wants its answer any more. */
export class Patience {
  /** Aborts what the request uses. */
  readonly signal: AbortSignal;
  readonly #outer: AbortSignal;
  readonly #limits: TimeLimits;
  readonly #inner = new AbortController();
  readonly #deadline: NodeJS.Timeout;
  #stall: NodeJS.Timeout | undefined;
  #late = false;
  #stalled = false;

  constructor(outer: AbortSignal, limits: TimeLimits) {
    this.#outer = outer;
    this.#limits = limits;
    this.signal = AbortSignal.any([outer, this.#inner.signal]);
    this.#deadline = setTimeout(() => {
      this.#late = true;
      this.end();
    }, limits.timeoutMs);
  }

  /** A piece has arrived. */
  piece(): void {
    if (this.#stall) this.#stall.refresh();
    else
      this.#stall = setTimeout(() => {
        this.#stalled = true;
        this.end();
      }, this.#limits.stallTimeoutMs);
  }

  /** What has become of the request so far. */
  get circumstances(): Circumstances {
    const { timeoutMs, stallTimeoutMs } = this.#limits;
    return {
      stopped: this.#outer.aborted,
      late: this.#late ? { timeoutMs, silent: this.#stall === undefined } : undefined,
      stalledMs: this.#stalled ? stallTimeoutMs : undefined,
    };
  }

  /** Closes the connection, unless it is free for others already. */
  end(): void {
    this.rest();
    this.#inner.abort();
  }

  /** Nothing is waited for any more. */
  rest(): void {
    clearTimeout(this.#deadline);
    clearTimeout(this.#stall);
  }
}
