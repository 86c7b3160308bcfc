/** Tick, ms. A stall of the event loop counts as two ticks at most. */
const TICK_MS = 500;

let runningMs = 0;
let last: number | undefined;

/**
 * Milliseconds during which the event loop ran. After a stall, due timers fire before waiting data is read; a
 * timeout in this clock still leaves time to read it.
 */
export function loopTime(): number {
  if (last === undefined) {
    last = performance.now();
    setInterval(add, TICK_MS).unref();
  }
  return runningMs + sinceTick(last);
}

/** A timeout in {@link loopTime}. */
export class LoopTimer {
  readonly #ms: number;
  readonly #ended: () => void;
  #due: number;
  #timer: NodeJS.Timeout;

  /** @param ended called once when the time is over, unless refreshed or cleared before */
  constructor(ms: number, ended: () => void) {
    this.#ms = ms;
    this.#ended = ended;
    this.#due = loopTime() + ms;
    this.#timer = setTimeout(() => this.#check(), ms);
  }

  /** Restarts the timeout. */
  refresh(): void {
    this.#due = loopTime() + this.#ms;
  }

  clear(): void {
    clearTimeout(this.#timer);
  }

  #check(): void {
    const leftMs = this.#due - loopTime();
    if (leftMs <= 0) this.#ended();
    else this.#timer = setTimeout(() => this.#check(), leftMs);
  }
}

function add(): void {
  runningMs += sinceTick(last ?? performance.now());
  last = performance.now();
}

function sinceTick(tick: number): number {
  return Math.min(performance.now() - tick, 2 * TICK_MS);
}
