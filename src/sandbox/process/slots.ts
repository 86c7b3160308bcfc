const asError = (reason: unknown) =>
  reason instanceof Error ? reason : new Error("Given up.", { cause: reason });

/** A semaphore with a bounded FIFO queue. */
export class Slots {
  readonly #waiting: (() => void)[] = [];
  readonly #mostWaiting: number;
  #free: number;

  constructor(most: number, mostWaiting: number) {
    this.#free = most;
    this.#mostWaiting = mostWaiting;
  }

  /**
   * Waits for a slot.
   * @returns undefined if the queue is full
   * @throws the signal's reason if it aborts first
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

  release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
