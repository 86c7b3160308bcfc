import { once } from "node:events";
import process from "node:process";
import { Worker } from "node:worker_threads";

/** The stranger's request. */
export interface Errand {
  readonly port: number;
  /** Of the client; undefined: what the system chooses. */
  readonly localAddress: string | undefined;
  /** The bytes of a request, Latin-1. */
  readonly text: string;
  readonly times: number;
}

/** Cost of requests for the thread of the server. */
interface Cost {
  /** CPU time per request. */
  readonly micros: number;
  /** Of the responses. */
  readonly statuses: readonly string[];
}

/** Repetitions of a measurement that seems too slow: a busy machine delays single ones. */
const TRIES = 12;

/** Sends requests from another thread, so that what this thread spends is the server's. */
export class Stranger {
  readonly #worker = new Worker(new URL("stranger-worker.ts", import.meta.url), { execArgv: [] });
  readonly #port: number;
  #addresses = 0;

  constructor(port: number) {
    this.#port = port;
  }

  /**
   * How many times as much as another a request costs: the minimum of some tries, until it is below `most`.
   */
  async timesAsMuch(
    text: string,
    other: string,
    most: number,
    times = 100,
  ): Promise<{ ratio: number; statuses: readonly string[] }> {
    let ratio = Number.POSITIVE_INFINITY;
    const statuses = new Set<string>();
    for (let tries = 0; tries < TRIES && ratio >= most; tries++) {
      const cost = await this.costOf(text, times);
      for (const status of cost.statuses) statuses.add(status);
      ratio = Math.min(ratio, cost.micros / (await this.costOf(other, 2 * times)).micros);
    }
    return { ratio, statuses: [...statuses] };
  }

  async costOf(text: string, times: number): Promise<Cost> {
    const localAddress = this.#newAddress();
    const before = process.threadCpuUsage();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    this.#worker.postMessage({ port: this.#port, localAddress, text, times } satisfies Errand);
    const [statuses] = await once(this.#worker, "message");
    const { user, system } = process.threadCpuUsage(before);
    return { micros: (user + system) / times, statuses };
  }

  /** Each has its own unpaid time, which repetitions would use up. Only Linux has more than one. */
  #newAddress(): string | undefined {
    return process.platform === "linux" ? `127.0.1.${1 + (this.#addresses++ % 250)}` : undefined;
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
