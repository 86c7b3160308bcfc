const asError = (reason: unknown) =>
  reason instanceof Error ? reason : new Error("Given up.", { cause: reason });

/** So many at once, and so many that wait for their turn, first come, first served. */
export class Slots {
  readonly #waiting: (() => void)[] = [];
  readonly #mostWaiting: number;
  #free: number;

  constructor(most: number, mostWaiting: number) {
    this.#free = most;
    this.#mostWaiting = mostWaiting;
  }

  /**
   * Waits for a place.
   * @returns undefined when too many wait already
   * @throws the signal's reason when that aborts first
   */
  acquire(signal: AbortSignal): Promise<void> | undefined {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    if (this.#waiting.length >= this.#mostWaiting) return undefined;
    return new Promise((resolve, reject) => {
      const forget = () => {
        this.#waiting.splice(this.#waiting.indexOf(turn), 1);
        reject(asError(signal.reason));
      };
      const turn = () => {
        signal.removeEventListener("abort", forget);
        resolve();
      };
      this.#waiting.push(turn);
      signal.addEventListener("abort", forget, { once: true });
    });
  }

  /** Gives a place back. */
  release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
