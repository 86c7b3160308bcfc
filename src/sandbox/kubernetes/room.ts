import { ToolgateError } from "../../domain/errors.ts";

/** After which a place may have become free, s. */
const RETRY_AFTER_SECONDS = 2;

/** The places of executions, and the queue before them. */
export class Room {
  readonly #most: number;
  readonly #mostWaiting: number;
  #taken = 0;
  readonly #waiting = new Set<() => void>();

  constructor(most: number, mostWaiting: number) {
    this.#most = most;
    this.#mostWaiting = mostWaiting;
  }

  /**
   * Takes a place, in the order of asking.
   * @returns what gives it back
   * @throws ToolgateError UNAVAILABLE when as many wait as may; the signal's reason when it is aborted
   */
  async enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#taken < this.#most) this.#taken += 1;
    else await this.#wait(signal);
    return () => this.#leave();
  }

  async #wait(signal: AbortSignal): Promise<void> {
    if (this.#waiting.size >= this.#mostWaiting) {
      throw new ToolgateError("UNAVAILABLE", "The sandbox has no place for another execution right now.", {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    }
    await new Promise<void>((resolve, reject) => {
      const end = () => {
        this.#waiting.delete(take);
        reject(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
      };
      const take = () => {
        signal.removeEventListener("abort", end);
        resolve();
      };
      signal.addEventListener("abort", end, { once: true });
      this.#waiting.add(take);
    });
  }

  /** A place that is given back goes to the one who waits longest. */
  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#taken -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
