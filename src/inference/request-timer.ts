import { LoopTimer } from "../loop-time.ts";
import type { RequestState } from "./upstream-failure.ts";

/** How long a server may take, in ms. */
export interface TimeLimits {
  /** From the request to the end of the answer. */
  readonly timeoutMs: number;
  /** From the beginning of a streamed answer, its headers, to its first piece: prompts wait for their turn and are read meanwhile. */
  readonly firstPieceTimeoutMs: number;
  /** From one piece of a streamed answer to the next. */
  readonly stallTimeoutMs: number;
}

/** Watches one request's time limits, and ends it when one has passed or nobody wants its answer any more. */
export class RequestTimer {
  /** Aborts what the request uses. */
  readonly signal: AbortSignal;
  readonly #outer: AbortSignal;
  readonly #limits: TimeLimits;
  readonly #alive: () => void;
  readonly #inner = new AbortController();
  readonly #deadline: LoopTimer;
  #pause: LoopTimer | undefined;
  #silent = true;
  #late = false;
  #stalledMs: number | undefined;

  /** @param alive told when the first piece has arrived */
  constructor(outer: AbortSignal, limits: TimeLimits, alive = () => {}) {
    this.#outer = outer;
    this.#alive = alive;
    this.#limits = limits;
    this.signal = AbortSignal.any([outer, this.#inner.signal]);
    this.#deadline = new LoopTimer(limits.timeoutMs, () => {
      this.#late = true;
      this.abort();
    });
  }

  /** A streamed answer has begun. */
  streamStarted(): void {
    this.#await(this.#limits.firstPieceTimeoutMs);
  }

  /** A piece has arrived. */
  chunkReceived(): void {
    if (!this.#silent) {
      this.#pause?.refresh();
      return;
    }
    this.#silent = false;
    this.#await(this.#limits.stallTimeoutMs);
    this.#alive();
  }

  /** What has become of the request so far. */
  get state(): RequestState {
    const silent = this.#silent;
    return {
      stopped: this.#outer.aborted,
      late: this.#late ? { timeoutMs: this.#limits.timeoutMs, silent } : undefined,
      stalled: this.#stalledMs === undefined ? undefined : { pauseMs: this.#stalledMs, silent },
    };
  }

  /** Closes the connection, unless it is free for others already. */
  abort(): void {
    this.stop();
    this.#inner.abort();
  }

  /** Nothing is waited for any more. */
  stop(): void {
    this.#deadline.clear();
    this.#pause?.clear();
  }

  #await(limitMs: number): void {
    this.#pause?.clear();
    this.#pause = new LoopTimer(limitMs, () => {
      this.#stalledMs = limitMs;
      this.abort();
    });
  }
}
