import os from "node:os";
import process from "node:process";
import type { Log } from "../../domain/core/log.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import {
  SANDBOX_LANGUAGES,
  type AccountJob,
  type SandboxCapabilities,
  type SandboxEngine,
  type SandboxExecution,
  type SandboxLanguage,
  cancelledBeforeStart,
} from "../../domain/tools/sandbox.ts";
import { ImageFile } from "./image-file.ts";
import { launchLine, programsSeen, type LaunchLine } from "./launch-line.ts";
import { DEFAULT_LIMITS, START_CPU_SECONDS, type ProcessLimits } from "./limits.ts";
import { Slots } from "./slots.ts";
import { lowFirst, raisePriority } from "./priority.ts";
import { PROBES } from "./probes.ts";
import { PythonStarter } from "./python-starter.ts";
import { Run, type RunLimits } from "./run.ts";
import { selfTest } from "./self-test.ts";
import { setUp, type Isolation, type Setup } from "./setup.ts";
import { readWheels } from "./wheels.ts";
import { Worker } from "./worker.ts";
import { WorkerPool } from "./worker-pool.ts";

/** Options; all but the log have defaults. */
export interface ProcessEngineOptions {
  readonly log: Log;
  /** Default "auto". */
  readonly isolation?: Isolation;
  /** Idle workers per language. Default 2 and 1. */
  readonly idle?: Readonly<Record<SandboxLanguage, number>>;
  /** Concurrent executions. Default: twice the cores, at most one per 600 MiB of memory. */
  readonly concurrency?: number;
  /** Queued executions. Default 16. */
  readonly queue?: number;
  /** Default {@link DEFAULT_LIMITS}. */
  readonly limits?: Partial<ProcessLimits>;
  /** Folder with pure-Python wheels. */
  readonly wheelsDir?: string | undefined;
  /** Time limit for starting a worker, ms. Default 60 s. */
  readonly startMs?: number;
  /** Time limit for waiting for a worker, ms. Default 30 s. */
  readonly waitMs?: number;
  /** Idle time after which workers end, ms. Default 10 min. */
  readonly retireMs?: number;
  /** Whether calls are served during the self-test, which then runs at low priority. Default: no. */
  readonly isServing?: boolean;
}

const MEGABYTE = 1_048_576;
const DEFAULT_START_MS = 60_000;

interface Active {
  readonly abort: AbortController;
  run: Run | undefined;
}

/** Runs each execution in a process on this machine. */
export class ProcessEngine implements SandboxEngine {
  readonly name = "process";
  readonly #options: ProcessEngineOptions;
  readonly #limits: ProcessLimits;
  readonly #slots: Slots;
  readonly #pools: Readonly<Record<SandboxLanguage, WorkerPool>>;
  readonly #active = new Map<string, Active>();
  readonly #python: PythonStarter;
  #setup: Promise<Setup> | undefined;
  #closed = false;

  private constructor(options: ProcessEngineOptions) {
    this.#options = options;
    this.#python = new PythonStarter(options.log, new ImageFile());
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#slots = new Slots(options.concurrency ?? defaultConcurrency(), options.queue ?? 16);
    this.#pools = { javascript: this.#pool("javascript", 2), python: this.#pool("python", 1) };
  }

  /** Opens the engine. Nothing starts before health() or the first execution. */
  static open(options: ProcessEngineOptions): ProcessEngine {
    return new ProcessEngine(options);
  }

  async capabilities(): Promise<SandboxCapabilities> {
    const { enclosure, wheels } = await this.#ready();
    const isolationLayers = [
      ...(enclosure.bubblewrap === "" ? [] : ["bubblewrap"]),
      ...(enclosure.dropTo === undefined ? [] : ["unprivileged user"]),
      "rlimits",
      "deno",
    ];
    return { languages: SANDBOX_LANGUAGES, isolationLayers, packages: wheels.map((wheel) => wheel.package) };
  }

  async health(signal: AbortSignal): Promise<void> {
    const setup = await this.#ready();
    if (setup.withoutBubblewrap !== undefined) {
      this.#options.log.warn({ reason: setup.withoutBubblewrap }, "sandbox runs without bubblewrap");
    }
    const test = async (signal: AbortSignal, isLow: boolean) => await this.#selfTest(setup, signal, isLow);
    if (this.#options.isServing === true) await lowFirst(signal, test);
    else await test(signal, false);
    for (const language of SANDBOX_LANGUAGES) this.#pools[language].warm();
  }

  async start(job: AccountJob, signal: AbortSignal): Promise<SandboxExecution> {
    if (this.#closed) throw new ToolgateError("UNAVAILABLE", "The sandbox is shutting down.");
    if (this.#active.has(job.runId))
      throw new ToolgateError("UNAVAILABLE", "This execution is already running.");
    const active: Active = { abort: new AbortController(), run: undefined };
    this.#active.set(job.runId, active);
    try {
      const run = await this.#startRun(job, active, signal);
      const done = run.done.finally(() => {
        this.#active.delete(job.runId);
        this.#slots.release(job.accountId);
      });
      // The caller may have gone before it rejects.
      done.catch(() => {});
      return { done };
    } catch (error) {
      this.#active.delete(job.runId);
      throw this.#toToolgateError(error, active.abort.signal, signal);
    }
  }

  async cancel(runId: string): Promise<boolean> {
    const active = this.#active.get(runId);
    if (active === undefined) return false;
    if (active.run !== undefined) return active.run.cancel();
    if (active.abort.signal.aborted) return false;
    active.abort.abort();
    return true;
  }

  /** Nothing remains after a crash: guests die with the gateway and have no files. */
  async reap(): Promise<number> {
    return 0;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const pools = Object.values(this.#pools).map((pool) => pool.close());
    const runs: Promise<unknown>[] = [];
    for (const { abort, run } of this.#active.values()) {
      abort.abort();
      run?.abort();
      if (run !== undefined) runs.push(run.done);
    }
    await Promise.allSettled([...pools, ...runs]);
  }

  async #selfTest(setup: Setup, signal: AbortSignal, isLow: boolean): Promise<void> {
    await selfTest({
      isRoot: process.getuid?.() === 0,
      enclosure: setup.enclosure,
      limits: this.#limits,
      startWorker: (language) => this.#startWorker(language, signal, isLow),
      run: (worker, job, limits) => new Run(worker, job, this.#runLimits(setup, limits), signal).done,
      line: this.#line(setup, "javascript"),
      pyodide: programsSeen(setup.enclosure, setup.programs).pyodide,
      signal,
      probes: PROBES,
      oneByOne: isLow,
    });
  }

  /** Waits for a slot and a worker, then hands the code over. */
  async #startRun(job: AccountJob, active: Active, signal: AbortSignal): Promise<Run> {
    const setup = await this.#ready();
    const late = AbortSignal.timeout(this.#options.waitMs ?? 30_000);
    const waiting = AbortSignal.any([signal, active.abort.signal, late]);
    const place = this.#slots.acquire(job.accountId, waiting);
    if (place === undefined) throw busy();
    await place.catch((error: unknown) => {
      throw late.aborted ? busy() : error;
    });
    try {
      const worker = await this.#workerFor(job.language, waiting);
      if (waiting.aborted) {
        worker.end();
        waiting.throwIfAborted();
      }
      // No await from here on: a cancel must find the run.
      active.run = new Run(worker, job, this.#runLimits(setup, this.#limits), signal);
      return active.run;
    } catch (error) {
      this.#slots.release(job.accountId);
      throw late.aborted ? busy() : error;
    }
  }

  async #workerFor(language: SandboxLanguage, waiting: AbortSignal): Promise<Worker> {
    for (;;) {
      const worker = await this.#pools[language].take(waiting);
      if (!worker.process.isOver) return worker;
    }
  }

  /** Maps a failure before the start to an error for the caller. */
  #toToolgateError(error: unknown, cancelled: AbortSignal, signal: AbortSignal): ToolgateError {
    if (this.#closed) return new ToolgateError("UNAVAILABLE", "The sandbox is shutting down.");
    if (cancelled.aborted) return cancelledBeforeStart();
    if (error instanceof ToolgateError) return error;
    if (signal.aborted) return new ToolgateError("UNAVAILABLE", "The execution was aborted.");
    this.#options.log.error({ err: error }, "sandbox execution could not start");
    return new ToolgateError("UNAVAILABLE", "The sandbox cannot run code right now; try again later.", {
      retryAfterSeconds: 10,
      cause: error,
    });
  }

  #ready(): Promise<Setup> {
    const { isolation = "auto", wheelsDir, startMs = DEFAULT_START_MS } = this.#options;
    this.#setup ??= setUp({ isolation, wheelsDir, startMs });
    // Retry the setup next time.
    this.#setup.catch(() => (this.#setup = undefined));
    return this.#setup;
  }

  #pool(language: SandboxLanguage, idle: number): WorkerPool {
    return new WorkerPool({
      language,
      idle: this.#options.idle?.[language] ?? idle,
      retireMs: this.#options.retireMs ?? 600_000,
      start: (signal, isUrgent) => this.#startForPool(language, signal, isUrgent),
      onFailure: (error) =>
        this.#options.log.error({ err: error, language }, "sandbox worker failed to start"),
    });
  }

  /** Starts a worker at low priority if no caller waits for it, and raises it when it is ready. */
  async #startForPool(language: SandboxLanguage, signal: AbortSignal, isUrgent: boolean): Promise<Worker> {
    if (isUrgent || !(await this.#ready()).canRaise) return await this.#startWorker(language, signal, false);
    const worker = await lowFirst(signal, (until, isLow) => this.#startWorker(language, until, isLow));
    if (await raisePriority(worker.process.pid ?? 0, worker.leaf)) return worker;
    worker.end();
    return await this.#startWorker(language, signal, false);
  }

  async #startWorker(language: SandboxLanguage, signal: AbortSignal, isLow: boolean): Promise<Worker> {
    const setup = await this.#ready();
    const { startMs = DEFAULT_START_MS, wheelsDir } = this.#options;
    const start = { language, line: this.#line(setup, language), timeoutMs: startMs, isLow, signal };
    if (language === "javascript") return await Worker.start({ ...start, input: [] });
    const { pyodide } = programsSeen(setup.enclosure, setup.programs);
    return await this.#python.start(
      start,
      pyodide,
      setup.version,
      wheelsDir === undefined ? [] : await readWheels(wheelsDir, setup.wheels),
    );
  }

  #line(setup: Setup, language: SandboxLanguage): LaunchLine {
    const dataKb = Math.ceil((setup.baseDataMb + this.#limits.memoryMb[language]) * 1024);
    const cpuSeconds = START_CPU_SECONDS + Math.ceil(this.#limits.cpuMs / 1000);
    return launchLine(language, setup.programs, setup.enclosure, { dataKb, cpuSeconds });
  }

  #runLimits(setup: Setup, limits: ProcessLimits): RunLimits {
    const { javascript, python } = this.#limits.memoryMb;
    return {
      ...limits,
      dataMb: { javascript: setup.baseDataMb + javascript, python: setup.baseDataMb + python },
    };
  }
}

function busy(): ToolgateError {
  return new ToolgateError("UNAVAILABLE", "The sandbox is busy; try again in a few seconds.", {
    retryAfterSeconds: 5,
  });
}

function defaultConcurrency(): number {
  const constrained = process.constrainedMemory();
  const memory = constrained > 0 ? Math.min(constrained, os.totalmem()) : os.totalmem();
  return Math.max(1, Math.min(os.availableParallelism() * 2, Math.floor(memory / (600 * MEGABYTE))));
}
