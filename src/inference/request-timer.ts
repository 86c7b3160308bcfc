import { LoopTimer } from "../loop-time.ts";
import type { RequestState } from "./upstream-failure.ts";

export interface TimeLimits {
  /** From the request to the end of the response, ms. */
  readonly timeoutMs: number;
  /** From the response headers to the first chunk, ms. Covers queueing and prompt processing. */
  readonly firstPieceTimeoutMs: number;
  /** Between two chunks, ms. */
  readonly stallTimeoutMs: number;
}

/** Enforces the time limits of one request and aborts it on timeout or cancellation. */
export class RequestTimer {
  readonly signal: AbortSignal;
  readonly #outer: AbortSignal;
  readonly #limits: TimeLimits;
  readonly #onFirstChunk: () => void;
  readonly #inner = new AbortController();
  readonly #deadline: LoopTimer;
  #pause: LoopTimer | undefined;
  #silent = true;
  #late = false;
  #stalledMs: number | undefined;

  /** @param onFirstChunk called when the first chunk arrives */
  constructor(outer: AbortSignal, limits: TimeLimits, onFirstChunk = () => {}) {
    this.#outer = outer;
    this.#onFirstChunk = onFirstChunk;
    this.#limits = limits;
    this.signal = AbortSignal.any([outer, this.#inner.signal]);
    this.#deadline = new LoopTimer(limits.timeoutMs, () => {
      this.#late = true;
      this.abort();
    });
  }

  streamStarted(): void {
    this.#await(this.#limits.firstPieceTimeoutMs);
  }

  chunkReceived(): void {
    const isFirst = this.#silent;
    this.#silent = false;
    if (!isFirst && this.#pause) return this.#pause.refresh();
    this.#await(this.#limits.stallTimeoutMs);
    if (isFirst) this.#onFirstChunk();
  }

  /** Waits for the caller, which is no stall of the server; no longer than the whole request may take. */
  async waitFor(caller: Promise<void>): Promise<void> {
    this.#pause?.clear();
    this.#pause = undefined;
    const ended = Promise.withResolvers<void>();
    const end = () => ended.resolve();
    this.signal.addEventListener("abort", end, { once: true });
    await Promise.race([caller, ended.promise]);
    this.signal.removeEventListener("abort", end);
    if (!this.signal.aborted) this.#await(this.#limits.stallTimeoutMs);
  }

  /** Why the request ended, for its error. */
  get state(): RequestState {
    const silent = this.#silent;
    return {
      stopped: this.#outer.aborted,
      late: this.#late ? { timeoutMs: this.#limits.timeoutMs, silent } : undefined,
      stalled: this.#stalledMs === undefined ? undefined : { pauseMs: this.#stalledMs, silent },
    };
  }

  /** Aborts the request and closes its connection. */
  abort(): void {
    this.stop();
    this.#inner.abort();
  }

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
