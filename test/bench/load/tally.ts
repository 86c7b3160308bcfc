import { Latencies } from "../latencies.ts";
import type { LoadReport } from "./load-process.ts";

/** Counts the answers of a job and keeps its first failure. */
export class Tally {
  readonly #latencies = new Latencies();
  #answers = 0;
  failure: string | undefined;

  /** @param sentAt when the request was sent, by `performance.now()` */
  answered(sentAt: number): void {
    this.#answers++;
    this.#latencies.count(performance.now() - sentAt);
  }

  fail(message: string): void {
    this.failure ??= message;
  }

  /** Answers so far; the next report's latencies start here. */
  report(): LoadReport {
    const [p50Ms, p99Ms] = [this.#latencies.percentile(0.5), this.#latencies.percentile(0.99)];
    this.#latencies.clear();
    return { answers: this.#answers, atMs: performance.now(), p50Ms, p99Ms, failure: this.failure };
  }
}

export interface Load {
  /** Resolves when no call is under way any more. */
  stop(): Promise<void>;
}
