import { setTimeout as delay } from "node:timers/promises";
import type { Metrics } from "../operations/metrics.ts";
import type { TreasuryLedger } from "../treasury/treasury-ledger.ts";
import type { Log } from "../../domain/core/log.ts";
import { JobRunner } from "./job-runner.ts";
import type { JobRuns, Job } from "./job.ts";

/**
 * Duration of the leader lease, ms. With one heartbeat before and after it, a dead leader is replaced
 * within 15 s.
 */
const LEASE_MS = 9_000;

/** Share of the lease after which a leader stops by itself: a busy event loop fires its timers late. */
const LOCAL_SHARE = 0.9;

/** Heartbeat interval, ms. */
const HEARTBEAT_MS = 3_000;

/** How long a shutdown waits for aborted runs and for the release of the lease, ms. */
const SHUTDOWN_MS = 1_000;

interface BackgroundWorkerOptions {
  readonly leadership: Pick<TreasuryLedger, "acquireLeadership" | "releaseLeadership">;
  /** Jobs of the leader only. */
  readonly leaderJobs: readonly Job[];
  readonly instanceJobs: readonly Job[];
  readonly metrics: Metrics;
  readonly log: Log;
  readonly runs?: Pick<JobRuns, "record">;
  readonly leaseMs?: number;
  readonly heartbeatMs?: number;
}

/**
 * Runs the background jobs on every instance; the leader also runs the treasury jobs. Leadership is a lease
 * in the database: an instance that cannot renew it stops its jobs before another can take over. A failing
 * or hanging job delays neither the other jobs nor the heartbeat.
 */
export class BackgroundWorker {
  readonly #options: BackgroundWorkerOptions;
  readonly #leaseMs: number;
  readonly #heartbeatMs: number;
  readonly #runner: JobRunner;
  readonly #closing = new AbortController();
  readonly #loops = new Set<Promise<void>>();
  #leading: AbortController | undefined;
  #leaseTimer: NodeJS.Timeout | undefined;

  constructor(options: BackgroundWorkerOptions) {
    this.#options = options;
    this.#leaseMs = options.leaseMs ?? LEASE_MS;
    this.#heartbeatMs = options.heartbeatMs ?? HEARTBEAT_MS;
    this.#runner = new JobRunner(options);
    const names = [
      "lead" as const,
      ...[...options.leaderJobs, ...options.instanceJobs].map(({ name }) => name),
    ];
    for (const job of names) options.metrics.count("toolgate_keeper_failures_total", 0, { work: job });
  }

  start(): void {
    if (this.#loops.size > 0) return;
    this.#loop(() => this.#renewLease(), { afterMs: 0, everyMs: this.#heartbeatMs }, this.#closing.signal);
    for (const job of this.#options.instanceJobs) this.#runJob(job, this.#closing.signal);
  }

  /** Stops all jobs and releases leadership. Resolves soon even if a job hangs. */
  async close(): Promise<void> {
    const started = this.#loops.size > 0;
    this.#closing.abort(new Error("the background worker is closing"));
    this.#stopLeading();
    await Promise.all(this.#loops);
    await Promise.race([this.#runner.settled(), delay(SHUTDOWN_MS, undefined, { ref: false })]);
    if (!started) return;
    const resign = {
      name: "lead" as const,
      limitMs: SHUTDOWN_MS,
      run: () => this.#options.leadership.releaseLeadership(),
    };
    await this.#runner.run(resign, new AbortController().signal);
  }

  /** Acquires or renews leadership. After a failure the last lease stays valid until it expires. */
  async #renewLease(): Promise<void> {
    // Starts before the query, so the local lease always expires first.
    const leaseTimer = setTimeout(() => this.#stopLeading(), this.#leaseMs * LOCAL_SHARE).unref();
    const acquire = {
      name: "lead" as const,
      limitMs: this.#heartbeatMs,
      run: () => this.#options.leadership.acquireLeadership(this.#leaseMs),
    };
    const leads = await this.#runner.run(acquire, this.#closing.signal);
    if (leads === undefined || this.#closing.signal.aborted) {
      clearTimeout(leaseTimer);
      return;
    }
    clearTimeout(this.#leaseTimer);
    this.#leaseTimer = leaseTimer;
    if (leads) this.#startLeading();
    else this.#stopLeading();
  }

  #startLeading(): void {
    if (this.#leading) return;
    this.#leading = new AbortController();
    this.#options.metrics.set("toolgate_keeper_leading", 1);
    this.#options.log.info({}, "became treasury leader");
    for (const job of this.#options.leaderJobs) this.#runJob(job, this.#leading.signal);
  }

  #stopLeading(): void {
    clearTimeout(this.#leaseTimer);
    if (!this.#leading) return;
    this.#leading.abort(new Error("lost treasury leadership"));
    this.#leading = undefined;
    this.#options.metrics.set("toolgate_keeper_leading", 0);
    this.#options.log.info({}, "lost treasury leadership");
    for (const job of this.#options.leaderJobs) job.onLeadershipLost?.();
  }

  #runJob(job: Job, stop: AbortSignal): void {
    this.#loop(() => this.#runner.run(job, stop), job, stop);
  }

  #loop(run: () => Promise<unknown>, pace: Pick<Job, "afterMs" | "everyMs">, stop: AbortSignal): void {
    const loop = (async () => {
      for (let pauseMs = pace.afterMs; await pause(pauseMs, stop); pauseMs = pace.everyMs) await run();
    })();
    this.#loops.add(loop);
    void loop.finally(() => this.#loops.delete(loop));
  }
}

/** @returns false when stopped */
async function pause(ms: number, stop: AbortSignal): Promise<boolean> {
  if (ms > 0) await delay(ms, undefined, { signal: stop, ref: false }).catch(() => {});
  return !stop.aborted;
}

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000];

/** Counts the calls of complete quarters of an hour. */
export function usageJob(count: (signal: AbortSignal) => Promise<void>): Job {
  return { name: "usage", afterMs: MINUTE_MS, everyMs: MINUTE_MS, limitMs: 10 * MINUTE_MS, run: count };
}

/** Makes the partitions of runs and receipts a month ahead. */
export function partitionsJob(makePartitions: () => Promise<void>): Job {
  return {
    name: "partitions",
    afterMs: MINUTE_MS,
    everyMs: HOUR_MS,
    limitMs: MINUTE_MS,
    run: makePartitions,
  };
}
