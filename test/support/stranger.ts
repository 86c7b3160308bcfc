import { once } from "node:events";
import process from "node:process";
import { Worker } from "node:worker_threads";

/** What a stranger has to send. */
export interface Errand {
  readonly port: number;
  /** A request as it goes over the wire, Latin-1. */
  readonly text: string;
  readonly times: number;
}

/** What a request costs the thread whose server answers it. */
export interface Cost {
  /** Of CPU. */
  readonly micros: number;
  /** Of the answers. */
  readonly statuses: readonly string[];
}

/** Sends requests from another thread, so that what this thread spends is the server's. */
export class Stranger {
  readonly #worker = new Worker(new URL("stranger-worker.ts", import.meta.url), { execArgv: [] });
  readonly #port: number;

  constructor(port: number) {
    this.#port = port;
  }

  /** The least of some batches: what else the machine does makes the others longer. */
  async costOf(text: string, times = 100, batches = 3): Promise<Cost> {
    const costs: Cost[] = [];
    for (let batch = 0; batch < batches; batch++) costs.push(await this.#batch(text, times));
    return costs.reduce((least, cost) => (cost.micros < least.micros ? cost : least));
  }

  async #batch(text: string, times: number): Promise<Cost> {
    const before = process.threadCpuUsage();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    this.#worker.postMessage({ port: this.#port, text, times } satisfies Errand);
    const [statuses] = await once(this.#worker, "message");
    const { user, system } = process.threadCpuUsage(before);
    return { micros: (user + system) / times, statuses };
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
