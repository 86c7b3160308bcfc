import type { Metrics } from "../operations/metrics.ts";
import type { Log } from "../../domain/core/log.ts";
import type { JobName } from "./job.ts";

export interface JobRunnerOptions {
  readonly metrics: Metrics;
  readonly log: Log;
}

export interface JobRun<Result> {
  readonly name: JobName;
  /** Time limit, ms. */
  readonly limitMs: number;
  run(signal: AbortSignal): Promise<Result>;
}

/** Runs jobs with a time limit. A failure never stops the schedule. */
export class JobRunner {
  readonly #options: JobRunnerOptions;
  readonly #failing = new Set<JobName>();
  readonly #unsettled = new Set<Promise<unknown>>();

  constructor(options: JobRunnerOptions) {
    this.#options = options;
  }

  /**
   * Runs a job until it ends, times out or `stop` aborts. Counts failures, and logs the first failure and
   * the first success after it.
   * @returns the job's result; undefined when it failed or was stopped
   */
  async run<Result>(job: JobRun<Result>, stop: AbortSignal): Promise<Result | undefined> {
    const cut = new AbortController();
    const cutOff = () => cut.abort(stop.reason);
    const overdue = setTimeout(() => cut.abort(tooLong(job.limitMs)), job.limitMs);
    stop.addEventListener("abort", cutOff);
    try {
      stop.throwIfAborted();
      const work = this.#follow(job.run(cut.signal));
      const result = await Promise.race([work, abortOf(cut.signal)]);
      this.#succeeded(job.name);
      return result;
    } catch (error) {
      if (!stop.aborted) this.#failed(job.name, error);
      return undefined;
    } finally {
      clearTimeout(overdue);
      stop.removeEventListener("abort", cutOff);
    }
  }

  /** Resolves when every run has settled, including those that timed out. */
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
    if (this.#failing.delete(name)) this.#options.log.info({ work: name }, "treasury job recovered");
  }

  #failed(name: JobName, error: unknown): void {
    const { metrics, log } = this.#options;
    metrics.count("toolgate_keeper_failures_total", 1, { work: name });
    if (this.#failing.has(name)) return;
    this.#failing.add(name);
    log.warn({ err: error, work: name }, "treasury job failed, retrying");
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
  return new Error(`the job ran longer than ${limitMs} ms and was aborted`);
}
