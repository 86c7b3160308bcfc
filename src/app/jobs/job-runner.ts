import type { Metrics } from "../operations/metrics.ts";
import type { Log } from "../../domain/core/log.ts";
import type { JobName } from "./job.ts";

/** What rounds are run with. */
export interface JobRunnerOptions {
  readonly metrics: Metrics;
  readonly log: Log;
}

/** One round of some work. */
export interface JobRun<Result> {
  readonly name: JobName;
  /** Longest that it may take, ms. */
  readonly limitMs: number;
  run(signal: AbortSignal): Promise<Result>;
}

/** Runs rounds of work: none takes longer than it may, and a failure ends nothing. */
export class JobRunner {
  readonly #options: JobRunnerOptions;
  readonly #failing = new Set<JobName>();
  readonly #unsettled = new Set<Promise<unknown>>();

  constructor(options: JobRunnerOptions) {
    this.#options = options;
  }

  /**
   * Runs one round, until it ends, takes too long or `stop` aborts. A failure is counted, and told to the log when it is the first
   * of its kind of work; so is the first success after it.
   * @returns what the round returned; undefined when it failed or was stopped
   */
  async run<Result>(round: JobRun<Result>, stop: AbortSignal): Promise<Result | undefined> {
    const cut = new AbortController();
    const cutOff = () => cut.abort(stop.reason);
    const overdue = setTimeout(() => cut.abort(tooLong(round.limitMs)), round.limitMs);
    stop.addEventListener("abort", cutOff);
    try {
      stop.throwIfAborted();
      const work = this.#follow(round.run(cut.signal));
      const result = await Promise.race([work, abortOf(cut.signal)]);
      this.#succeeded(round.name);
      return result;
    } catch (error) {
      if (!stop.aborted) this.#failed(round.name, error);
      return undefined;
    } finally {
      clearTimeout(overdue);
      stop.removeEventListener("abort", cutOff);
    }
  }

  /** Resolves when every round has settled, those that were given up included. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#unsettled);
  }

  #follow<Result>(work: Promise<Result>): Promise<Result> {
    this.#unsettled.add(work);
    const forget = () => void this.#unsettled.delete(work);
    work.then(forget, forget);
    return work;
  }

  #succeeded(name: JobName): void {
    if (this.#failing.delete(name))
      this.#options.log.info({ work: name }, "the treasury's work succeeds again");
  }

  #failed(name: JobName, error: unknown): void {
    const { metrics, log } = this.#options;
    metrics.count("toolgate_keeper_failures_total", 1, { work: name });
    if (this.#failing.has(name)) return;
    this.#failing.add(name);
    log.warn({ err: error, work: name }, "the treasury's work failed and is tried again");
  }
}

function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(reasonOf(signal)), { once: true });
  });
}

function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason));
}

function tooLong(limitMs: number): Error {
  return new Error(`a round took longer than ${limitMs} ms and was given up`);
}
