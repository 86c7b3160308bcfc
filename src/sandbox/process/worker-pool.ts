import type { SandboxLanguage } from "../../domain/sandbox.ts";
import type { Worker } from "./worker.ts";

/** How a pool works. */
export interface PoolOptions {
  readonly language: SandboxLanguage;
  /** Workers that wait for a job. */
  readonly idle: number;
  /** Workers that wait are ended when nobody wanted one for so long, ms. */
  readonly retireMs: number;
  readonly start: () => Promise<Worker>;
  /** Hears why a worker could not be started. */
  readonly onFailure: (error: unknown) => void;
}

/** A caller that waits for a worker. */
interface Waiter {
  readonly resolve: (worker: Worker) => void;
  readonly reject: (error: unknown) => void;
}

/** Workers of one language, each for one job: one that is taken is replaced in the background. */
export class WorkerPool {
  readonly #options: PoolOptions;
  readonly #idle: Worker[] = [];
  readonly #waiters: Waiter[] = [];
  #starting = 0;
  #wanted = false;
  #closed = false;
  #retire: NodeJS.Timeout | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Begins to start what is to wait. */
  warm(): void {
    this.#wanted = true;
    this.#touch();
    this.#fill();
  }

  /** A worker that is ready; the next one that is, when none waits. */
  take(signal: AbortSignal): Promise<Worker> {
    this.warm();
    const worker = this.#idle.shift();
    if (worker !== undefined) {
      this.#fill();
      return Promise.resolve(worker);
    }
    return new Promise((resolve, reject) => {
      const forget = () => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        resolve: (worker) => (signal.removeEventListener("abort", forget), resolve(worker)),
        reject: (error) => (signal.removeEventListener("abort", forget), reject(error)),
      };
      this.#waiters.push(waiter);
      signal.addEventListener("abort", forget, { once: true });
      if (signal.aborted) forget();
      this.#fill();
    });
  }

  /** Ends every worker that waits, and every one that is ready later. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#retire);
    for (const waiter of this.#waiters.splice(0)) waiter.reject(new Error("The sandbox is being closed."));
    this.#empty();
  }

  #touch(): void {
    clearTimeout(this.#retire);
    if (this.#closed) return;
    this.#retire = setTimeout(() => {
      this.#wanted = false;
      this.#empty();
    }, this.#options.retireMs).unref();
  }

  #empty(): void {
    for (const worker of this.#idle.splice(0)) worker.end();
  }

  #fill(): void {
    const target = this.#waiters.length + (this.#wanted ? this.#options.idle : 0);
    while (!this.#closed && this.#starting + this.#idle.length < target) {
      this.#starting += 1;
      void this.#startOne();
    }
  }

  async #startOne(): Promise<void> {
    let worker: Worker;
    try {
      worker = await this.#options.start();
    } catch (error) {
      this.#starting -= 1;
      if (this.#closed) return;
      this.#options.onFailure(error);
      // Nobody knows that the next one would start: who waits is told, and the next who asks tries again.
      this.#wanted = false;
      for (const waiter of this.#waiters.splice(0)) waiter.reject(error);
      return;
    }
    this.#starting -= 1;
    if (this.#closed) return worker.end();
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) return waiter.resolve(worker);
    if (!this.#wanted) return worker.end();
    this.#idle.push(worker);
    void worker.process.closed.then(() => {
      const at = this.#idle.indexOf(worker);
      if (at >= 0) this.#idle.splice(at, 1);
    });
  }
}
