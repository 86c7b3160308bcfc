import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { loadReport, type LoadCommand, type LoadJob, type LoadReport } from "./load-messages.ts";
import { ATTACHED } from "./server-process.ts";

/** How much was answered, up to when. */
export interface Sample {
  readonly answers: number;
  /** Milliseconds of the generator's monotonic clock. */
  readonly atMs: number;
  /** Latencies of the answers since the last sample, ms. */
  readonly p50Ms?: number | undefined;
  readonly p99Ms?: number | undefined;
}

/** A load generator in its own process, so that its work is not the server's. */
export class LoadProcess {
  readonly #child: ChildProcess;

  /** @param kind which generator: plain HTTP/1.1 over sockets, or the grpc-js client */
  constructor(kind: "http" | "grpc") {
    this.#child = fork(path.join(import.meta.dirname, `${kind}-load`, "main.ts"), [], {
      execArgv: ATTACHED,
    });
  }

  /** Opens the connections and begins to call. */
  async start(job: LoadJob): Promise<void> {
    await this.#ask({ kind: "start", job }, "started");
  }

  /** @throws Error when any answer was not the expected one */
  async sample(): Promise<Sample> {
    const report = await this.#ask({ kind: "sample" }, "sample");
    if (report.kind !== "sample") throw new Error("the load generator answered something else");
    return report;
  }

  /** Stops calling, waits for running calls and closes the connections. */
  async pause(): Promise<void> {
    await this.#ask({ kind: "pause" }, "paused");
  }

  async stop(): Promise<void> {
    // A signal to the whole group may have ended it already.
    if (!this.#child.connected) return;
    const exited = once(this.#child, "exit");
    this.#child.disconnect();
    await exited;
  }

  async #ask(command: LoadCommand, expected: LoadReport["kind"]): Promise<LoadReport> {
    const answered = new AbortController();
    const { signal } = answered;
    const ended = once(this.#child, "exit", { signal }).then(([code]) => {
      throw new Error(`the load generator ended with ${String(code)}`);
    });
    const answer = once(this.#child, "message", { signal });
    this.#child.send(command);
    const [message] = await Promise.race([answer, ended]).finally(() => answered.abort());
    const report = loadReport.parse(message);
    if (report.kind === "failed") throw new Error(report.message);
    if (report.kind !== expected)
      throw new Error(`the load generator answered ${report.kind}, not ${expected}`);
    return report;
  }
}
