import type { Log } from "../domain/core/log.ts";
import { Channel, type Port } from "./channel.ts";

/** A worker process. */
export interface WorkerProcess extends Port {
  readonly pid: number | undefined;
  kill(signal: "SIGTERM" | "SIGKILL"): void;
  /** Calls back with the exit code; null when a signal ended it. */
  onExit(act: (code: number | null) => void): void;
}

/** A worker whose servers listen, or that will. */
export interface Worker {
  readonly process: WorkerProcess;
  readonly channel: Channel;
  /** What it reports when its servers listen. Rejects when it ends before. */
  readonly ready: Promise<unknown>;
  readonly ended: Promise<void>;
}

export interface WorkersOptions {
  readonly count: number;
  readonly log: Log;
  fork(): WorkerProcess;
  /** Adds the requests that the primary answers. */
  readonly onFork: (channel: Channel) => void;
  readonly onEnd: (channel: Channel) => void;
  /** Counts a worker that is started again after an unexpected end. */
  readonly onRestart: () => void;
  /** Default {@link PING_MS}. */
  readonly pingMs?: number;
}

/** A worker ended before its servers listened. */
export class WorkerStartError extends Error {
  readonly exitCode: number | null;

  constructor(exitCode: number | null) {
    super(`a worker ended during its start, with exit code ${exitCode ?? "none"}`);
    this.exitCode = exitCode;
  }
}

/** First and longest pause before a worker that ended is started again, ms; a worker that lasts resets it. */
const [FIRST_PAUSE_MS, MAX_PAUSE_MS, LASTS_MS] = [250, 30_000, 60_000];

/** Interval of the workers' signs of life, and how many may be missing in a row. */
const [PING_MS, MISSED] = [5_000, 6];

/** Keeps a number of workers running. A worker that ends or no longer answers is started again. */
export class Workers {
  readonly #options: WorkersOptions;
  readonly #workers = new Set<Worker>();
  /** Workers whose end is expected. */
  readonly #leaving = new WeakSet<Worker>();
  #pauseMs = FIRST_PAUSE_MS;
  #isStopping = false;
  #replacing: Promise<void> = Promise.resolve();

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  /** Those that serve. */
  get all(): readonly Worker[] {
    return [...this.#workers].filter((worker) => !this.#leaving.has(worker));
  }

  /**
   * Starts one, which says what is wrong, then the others.
   * @returns what the first reports @throws WorkerStartError; then all have ended
   */
  async start(): Promise<unknown> {
    try {
      const first = this.#add();
      const report = await first.ready;
      const others = Array.from({ length: this.#options.count - 1 }, () => this.#add());
      await Promise.all(others.map(({ ready }) => ready));
      for (const worker of [first, ...others]) this.#keep(worker);
      return report;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /**
   * Replaces each worker by a new process, one after the other: the old one stops accepting connections when
   * the new one listens, and finishes its calls. If a new one does not start, the old ones stay.
   */
  replace(): Promise<void> {
    const replaced = this.#replacing.then(() => this.#replaceAll());
    this.#replacing = replaced.catch(() => {});
    return replaced;
  }

  /** Ends all. Resolves when they have ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(Array.from(this.#workers, (worker) => this.#end(worker)));
  }

  async #replaceAll(): Promise<void> {
    for (const old of this.all) {
      if (this.#isStopping) return;
      const next = this.#add();
      await next.ready;
      this.#keep(next);
      // One that ended meanwhile has a successor.
      if (!this.#workers.has(old)) void this.#end(next);
      this.#leaving.add(old);
      await old.channel.request("retire", null).catch(() => {});
      await old.ended;
    }
  }

  #end(worker: Worker): Promise<void> {
    this.#leaving.add(worker);
    worker.process.kill("SIGTERM");
    return worker.ended;
  }

  #add(): Worker {
    const options = this.#options;
    const process = options.fork();
    const channel = new Channel(process);
    options.onFork(channel);
    const [ready, ended] = [Promise.withResolvers<unknown>(), Promise.withResolvers<void>()];
    ready.promise.catch(() => {});
    channel.handle("ready", async (report) => ready.resolve(report));
    const worker = { process, channel, ready: ready.promise, ended: ended.promise };
    this.#workers.add(worker);
    process.onExit((code) => {
      this.#workers.delete(worker);
      options.onEnd(channel);
      ready.reject(new WorkerStartError(code));
      ended.resolve();
    });
    return worker;
  }

  /** Starts the worker again when it ends, and ends it when it no longer answers. */
  #keep(worker: Worker): void {
    const since = performance.now();
    const watch = this.#watch(worker);
    void worker.ended.then(() => watch.cancel()).then(() => this.#startAgain(worker, since));
  }

  #startAgain(worker: Worker, since: number): void {
    if (this.#leaving.has(worker) || this.#isStopping) return;
    if (performance.now() - since >= LASTS_MS) this.#pauseMs = FIRST_PAUSE_MS;
    const { pid } = worker.process;
    this.#options.log.error({ pid, startsInMs: this.#pauseMs }, "a worker ended; starting it again");
    setTimeout(() => this.#restart(), this.#pauseMs);
    this.#pauseMs = Math.min(2 * this.#pauseMs, MAX_PAUSE_MS);
  }

  #restart(): void {
    if (this.#isStopping) return;
    this.#options.onRestart();
    const worker = this.#add();
    // One that ends during its start is kept too: its end starts the next.
    this.#keep(worker);
  }

  /** A process that stands still gets its share of new connections, so it has to go. */
  #watch(worker: Worker): { cancel(): void } {
    const { log, pingMs = PING_MS } = this.#options;
    let missed = 0;
    const timer = setInterval(() => {
      if (++missed > MISSED) {
        log.error({ pid: worker.process.pid }, "a worker no longer answers; ending it");
        worker.process.kill("SIGKILL");
        return;
      }
      const answered = () => (missed = 0);
      worker.channel.request("ping", null).then(answered, () => {});
    }, pingMs);
    return { cancel: () => clearInterval(timer) };
  }
}
