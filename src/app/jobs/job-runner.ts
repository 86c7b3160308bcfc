import type { Metrics } from "../operations/metrics.ts";
import type { Log } from "../../domain/core/log.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { JobRuns, JobName } from "./job.ts";

export interface JobRunnerOptions {
  readonly metrics: Metrics;
  readonly log: Log;
  /** Stores each change between success and failure, and every failure. Default: nowhere. */
  readonly runs?: Pick<JobRuns, "record"> | undefined;
}

/** Successes of a job are stored this often at most, ms. */
const RECORD_MS = 10_000;

/** Of a stored failure. */
const MAX_FAILURE = 300;

export interface JobRun<Result> {
  readonly name: JobName;
  /** Interval between runs, ms; undefined: its runs are not stored. */
  readonly everyMs?: number;
  /** Time limit, ms. */
  readonly limitMs: number;
  run(signal: AbortSignal): Promise<Result>;
}

/** Runs jobs with a time limit. A failure never stops the schedule. */
export class JobRunner {
  readonly #options: JobRunnerOptions;
  readonly #failing = new Set<JobName>();
  readonly #unsettled = new Set<Promise<unknown>>();
  readonly #recorded = new Map<JobName, { readonly at: number; readonly failed: boolean }>();

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
    const startedAt = new Date();
    try {
      stop.throwIfAborted();
      const work = this.#follow(job.run(cut.signal));
      const result = await Promise.race([work, abortOf(cut.signal)]);
      this.#succeeded(job.name);
      this.#record(job, startedAt, undefined);
      return result;
    } catch (error) {
      if (stop.aborted) return undefined;
      this.#failed(job.name, error);
      this.#record(job, startedAt, reasonText(error));
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

  /** Does not wait: an outage of the database must not delay the next run. */
  #record({ name, everyMs }: JobRun<unknown>, startedAt: Date, failure: string | undefined): void {
    const { runs } = this.#options;
    if (!runs || everyMs === undefined) return;
    const last = this.#recorded.get(name);
    const at = startedAt.getTime();
    if (failure === undefined && last && !last.failed && Math.abs(at - last.at) < RECORD_MS) return;
    this.#recorded.set(name, { at, failed: failure !== undefined });
    const recording = runs.record({ name, startedAt, endedAt: new Date(), everyMs, failure });
    void this.#follow(recording.catch(() => this.#recorded.delete(name)));
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

/** Messages of foreign libraries may quote addresses with keys: the log, which redacts them, has those. */
function reasonText(error: unknown): string {
  if (error instanceof ToolgateError) return `${error.code}: ${error.message}`.slice(0, MAX_FAILURE);
  if (error instanceof OverdueError) return error.message;
  return `${error instanceof Error ? error.name : typeof error}; the log of the instance has the details`;
}

/** A job that was aborted by its time limit. */
class OverdueError extends Error {}

function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(reasonOf(signal)), { once: true });
  });
}

function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason));
}

function tooLong(limitMs: number): OverdueError {
  return new OverdueError(`the job ran longer than ${limitMs} ms and was aborted`);
}
