import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import process from "node:process";
import { z } from "zod";
import { firstLine, stopChild } from "../support/child.ts";
import { ROOT } from "../tooling/command.ts";

/** Options of Node that tie a process to the benchmark. */
export const ATTACHED = ["--import", import.meta.resolve("./attached.mjs")];

const cpuMessage = z.object({ cpuSeconds: z.number() });

interface StartOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly nodeOptions?: readonly string[];
}

export class ServerProcess {
  /** The line of JSON that it printed when it was ready. */
  readonly ready: unknown;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, ready: unknown) {
    this.#child = child;
    this.ready = ready;
  }

  /** Starts a program of the project and waits for its line of JSON. */
  static async start(
    file: string,
    { args = [], env = {}, nodeOptions = [] }: StartOptions,
  ): Promise<ServerProcess> {
    const child = fork(path.join(ROOT, file), args, {
      cwd: ROOT,
      env: { ...process.env, ...env },
      execArgv: [...ATTACHED, ...nodeOptions],
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
    return new ServerProcess(child, JSON.parse(await firstLine(child)));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  async cpuSeconds(): Promise<number> {
    const answer = once(this.#child, "message");
    this.#child.send("cpu");
    return cpuMessage.parse((await answer)[0]).cpuSeconds;
  }

  stop(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    return stopChild(this.#child, signal);
  }
}
