import type { SandboxLanguage } from "../../domain/tools/sandbox.ts";
import type { Worker } from "./worker.ts";

/** How a pool works. */
export interface PoolOptions {
  readonly language: SandboxLanguage;
  /** Workers that wait for a job. */
  readonly idle: number;
  /** Workers that wait are ended when nobody wanted one for so long, ms. */
  readonly retireMs: number;
  readonly start: (signal: AbortSignal) => Promise<Worker>;
  /** Hears why a worker could not be started. */
  readonly onFailure: (error: unknown) => void;
}

/** A caller that waits for a worker. */
interface Waiter {
  readonly resolve: (worker: Worker) => void;
  readonly reject: (error: Error) => void;
}

const abortError = ({ reason }: AbortSignal) =>
  new Error("Given up before a worker was ready.", { cause: reason });

/** Workers of one language, each for one job: one that is taken is replaced in the background. */
export class WorkerPool {
  readonly #options: PoolOptions;
  readonly #idle: Worker[] = [];
  readonly #waiters: Waiter[] = [];
  readonly #starting = new Set<Promise<void>>();
  readonly #end = new AbortController();
  #wanted = false;
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

  /** The workers that wait for a job. */
  get idle(): readonly Worker[] {
    return this.#idle;
  }

  /** A worker that is ready; the next one that is, when none waits. */
  take(signal: AbortSignal): Promise<Worker> {
    if (this.#closed) return Promise.reject(new Error("The sandbox is being closed."));
    if (signal.aborted) return Promise.reject(abortError(signal));
    this.warm();
    const worker = this.#idle.shift();
    if (worker !== undefined) {
      this.#fill();
      return Promise.resolve(worker);
    }
    return new Promise((resolve, reject) => {
      const forget = () => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        reject(abortError(signal));
      };
      const waiter: Waiter = {
        resolve: (worker) => (signal.removeEventListener("abort", forget), resolve(worker)),
        reject: (error) => (signal.removeEventListener("abort", forget), reject(error)),
      };
      this.#waiters.push(waiter);
      signal.addEventListener("abort", forget, { once: true });
      this.#fill();
    });
  }

  /** Ends every worker that waits or is being started; resolves when none is left. */
  async close(): Promise<void> {
    this.#end.abort();
    clearTimeout(this.#retire);
    for (const waiter of this.#waiters.splice(0)) waiter.reject(new Error("The sandbox is being closed."));
    const ends = this.#idle.map((worker) => worker.process.closed);
    this.#empty();
    await Promise.allSettled([...ends, ...this.#starting]);
  }

  get #closed(): boolean {
    return this.#end.signal.aborted;
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
    while (!this.#closed && this.#starting.size + this.#idle.length < target) {
      const beginning = this.#startOne().finally(() => {
        this.#starting.delete(beginning);
        // Whoever asked in the same moment still saw this one as on its way.
        this.#fill();
      });
      this.#starting.add(beginning);
    }
  }

  async #startOne(): Promise<void> {
    let worker: Worker;
    try {
      worker = await this.#options.start(this.#end.signal);
    } catch (error) {
      if (this.#closed) return;
      this.#options.onFailure(error);
      // Nobody knows that the next one would start: who waits is told, and the next who asks tries again.
      this.#wanted = false;
      const others = this.#starting.size - 1;
      if (this.#waiters.length <= others) return;
      this.#waiters.shift()?.reject(new Error("A worker did not start.", { cause: error }));
      return;
    }
    if (this.#closed) {
      worker.end();
      await worker.process.closed;
      return;
    }
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) return waiter.resolve(worker);
    if (!this.#wanted) return worker.end();
    this.#idle.push(worker);
    void this.#forgetWhenOver(worker);
  }

  /** One that ends while it waits, which only an emergency of the machine makes it do, is not handed out. */
  async #forgetWhenOver(worker: Worker): Promise<void> {
    await worker.process.closed;
    const at = this.#idle.indexOf(worker);
    if (at < 0) return;
    this.#idle.splice(at, 1);
    this.#fill();
  }
}
