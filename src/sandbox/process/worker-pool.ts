import type { SandboxLanguage } from "../../domain/tools/sandbox.ts";
import type { Worker } from "./worker.ts";

export interface PoolOptions {
  readonly language: SandboxLanguage;
  /** Number of idle workers to keep. */
  readonly idle: number;
  /** Idle workers end after this time without demand, ms. */
  readonly retireMs: number;
  /** Starts a worker; an urgent one, for a waiting caller, at full priority. */
  readonly start: (signal: AbortSignal, isUrgent: boolean) => Promise<Worker>;
  /** Receives the error if a worker fails to start. */
  readonly onFailure: (error: unknown) => void;
}

interface Waiter {
  readonly resolve: (worker: Worker) => void;
  readonly reject: (error: Error) => void;
}

const abortError = ({ reason }: AbortSignal) =>
  new Error("Aborted before a worker was ready.", { cause: reason });

/** Single-use workers of one language. Taken workers are replaced in the background. */
export class WorkerPool {
  readonly #options: PoolOptions;
  readonly #idle: Worker[] = [];
  readonly #waiters: Waiter[] = [];
  readonly #starting = new Set<Promise<void>>();
  #urgent = 0;
  readonly #end = new AbortController();
  #wanted = false;
  #retire: NodeJS.Timeout | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  warm(): void {
    this.#wanted = true;
    this.#touch();
    this.#fill();
  }

  get idle(): readonly Worker[] {
    return this.#idle;
  }

  /** Returns a ready worker, or waits for the next one. */
  take(signal: AbortSignal): Promise<Worker> {
    if (this.#closed) return Promise.reject(new Error("The sandbox is shutting down."));
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

  /** Ends idle and starting workers; resolves when none is left. */
  async close(): Promise<void> {
    this.#end.abort();
    clearTimeout(this.#retire);
    for (const waiter of this.#waiters.splice(0)) waiter.reject(new Error("The sandbox is shutting down."));
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
      const isUrgent = this.#urgent < this.#waiters.length;
      // One after the other if no caller waits.
      if (!isUrgent && this.#starting.size > this.#urgent) return;
      if (isUrgent) this.#urgent += 1;
      const worker = this.#startOne(isUrgent).finally(() => {
        if (isUrgent) this.#urgent -= 1;
        this.#starting.delete(worker);
        // A concurrent caller may have counted this start as pending.
        this.#fill();
      });
      this.#starting.add(worker);
    }
  }

  async #startOne(isUrgent: boolean): Promise<void> {
    let worker: Worker;
    try {
      worker = await this.#options.start(this.#end.signal, isUrgent);
    } catch (error) {
      if (this.#closed) return;
      this.#options.onFailure(error);
      // The next start may fail too: reject a waiter and let the next caller retry.
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

  /** Drops an idle worker that ended, for example by the OOM killer. */
  async #forgetWhenOver(worker: Worker): Promise<void> {
    await worker.process.closed;
    const at = this.#idle.indexOf(worker);
    if (at < 0) return;
    this.#idle.splice(at, 1);
    this.#fill();
  }
}
