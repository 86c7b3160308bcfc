import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { ATTACHED } from "../server-process.ts";

export interface LoadJob {
  readonly host: string;
  readonly port: number;
  /** Concurrent calls, each on its own connection (gRPC: stream). */
  readonly connections: number;
  /** HTTP: whole requests, used in turn. gRPC: the Authorization value. */
  readonly requests: readonly string[];
  /** HTTP: sends each request once. */
  readonly once?: boolean;
  /** HTTP: the status and part of the body. gRPC: `status` 0 and the response in base64. */
  readonly expect: { readonly status: number; readonly body: string };
  /** gRPC: the request message in base64. */
  readonly message?: string;
}

export type LoadCommand = { readonly start: LoadJob } | "sample" | "pause";

export interface LoadReport {
  readonly answers: number;
  /** Milliseconds of the generator's monotonic clock. */
  readonly atMs: number;
  /** Latencies of the answers since the last sample. */
  readonly p50Ms?: number | undefined;
  readonly p99Ms?: number | undefined;
  readonly failure?: string | undefined;
}

/** A load generator in its own process, so that its work is not the server's. */
export class LoadProcess {
  readonly #child: ChildProcess;

  /** @param kind plain HTTP/1.1 over sockets, or the grpc-js client */
  constructor(kind: "http" | "grpc") {
    this.#child = fork(path.join(import.meta.dirname, "main.ts"), [kind], { execArgv: ATTACHED });
  }

  async start(job: LoadJob): Promise<void> {
    await this.#ask({ start: job });
  }

  sample(): Promise<LoadReport> {
    return this.#ask("sample");
  }

  /** Stops calling, waits for running calls and closes the connections. */
  async pause(): Promise<void> {
    await this.#ask("pause");
  }

  async stop(): Promise<void> {
    // A signal to the whole group may have ended it already.
    if (!this.#child.connected) return;
    const exited = once(this.#child, "exit");
    this.#child.disconnect();
    await exited;
  }

  /** @throws Error for an unexpected answer of the server */
  async #ask(command: LoadCommand): Promise<LoadReport> {
    const answered = new AbortController();
    const { signal } = answered;
    const ended = once(this.#child, "exit", { signal }).then(([code]) => {
      throw new Error(`the load generator ended with ${String(code)}`);
    });
    const answer = once(this.#child, "message", { signal });
    this.#child.send(command);
    const [report]: LoadReport[] = await Promise.race([answer, ended]).finally(() => answered.abort());
    if (!report) throw new Error("the load generator sent nothing");
    if (report.failure !== undefined) throw new Error(report.failure);
    return report;
  }
}
