/** Runs a task at an interval, never twice at once. Ticks during a run are skipped, not queued. */
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

  /** Resolves after the current run. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#working;
  }
}
