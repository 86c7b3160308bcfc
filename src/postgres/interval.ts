/**
 * Does something time and again, never twice at once: turns that come while it is at work are left out, so that work which hangs for
 * long is not made up for afterwards.
 */
export class Interval {
  readonly #everyMs: number;
  readonly #work: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;

  /** @param work must not reject */
  constructor(everyMs: number, work: () => Promise<void>) {
    this.#everyMs = everyMs;
    this.#work = work;
  }

  start(): void {
    this.#timer ??= setInterval(() => {
      this.#working ??= this.#work().finally(() => (this.#working = undefined));
    }, this.#everyMs).unref();
  }

  /** Resolves when nothing is at work any more. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#working;
  }
}
