const asError = (reason: unknown) =>
  reason instanceof Error ? reason : new Error("Given up.", { cause: reason });

/**
 * A semaphore with a bounded queue that accounts share. The account that holds the fewest slots is next; of
 * equal ones, they take turns. One slot is kept for accounts that hold none, unless it is the only one.
 */
export class Slots {
  readonly #held = new Map<string, number>();
  /** In the order of the accounts' turns. */
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #mostWaiting: number;
  readonly #kept: number;
  #free: number;

  constructor(most: number, mostWaiting: number) {
    this.#free = most;
    this.#kept = most > 1 ? 1 : 0;
    this.#mostWaiting = mostWaiting;
  }

  /** Waits for a slot. @returns undefined if the queue is full. @throws the signal's reason */
  acquire(account: string, signal: AbortSignal): Promise<void> | undefined {
    signal.throwIfAborted();
    if (this.#fits(account)) {
      this.#take(account);
      return Promise.resolve();
    }
    const waiting = [...this.#waiting.values()].reduce((sum, turns) => sum + turns.length, 0);
    if (waiting >= this.#mostWaiting) return undefined;
    return new Promise((resolve, reject) => {
      const forget = () => {
        this.#setTurns(
          account,
          this.#turnsOf(account).filter((one) => one !== turn),
        );
        reject(asError(signal.reason));
      };
      const turn = () => {
        signal.removeEventListener("abort", forget);
        resolve();
      };
      this.#setTurns(account, [...this.#turnsOf(account), turn]);
      signal.addEventListener("abort", forget, { once: true });
    });
  }

  /** Starts what may start now. @param account that acquired the slot */
  release(account: string): void {
    const left = this.#heldBy(account) - 1;
    if (left > 0) this.#held.set(account, left);
    else this.#held.delete(account);
    this.#free += 1;
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const [turn, ...later] = this.#turnsOf(next);
      this.#waiting.delete(next);
      this.#setTurns(next, later);
      this.#take(next);
      turn?.();
    }
  }

  #next(): string | undefined {
    const fitting = [...this.#waiting.keys()].filter((account) => this.#fits(account));
    return fitting.toSorted((a, b) => this.#heldBy(a) - this.#heldBy(b))[0];
  }

  #fits(account: string): boolean {
    return this.#free > (this.#heldBy(account) > 0 ? this.#kept : 0);
  }

  #take(account: string): void {
    this.#free -= 1;
    this.#held.set(account, this.#heldBy(account) + 1);
  }

  #heldBy(account: string): number {
    return this.#held.get(account) ?? 0;
  }

  #turnsOf(account: string): readonly (() => void)[] {
    return this.#waiting.get(account) ?? [];
  }

  /** An account that already waits keeps its place in the order. */
  #setTurns(account: string, turns: (() => void)[]): void {
    if (turns.length > 0) this.#waiting.set(account, turns);
    else this.#waiting.delete(account);
  }
}
