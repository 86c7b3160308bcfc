import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { z } from "zod";
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
    const { stdout } = child;
    if (!stdout) throw new Error(`${file} has no output`);
    const line = await new Promise<string>((resolve, reject) => {
      createInterface({ input: stdout }).once("line", resolve);
      child.once("error", reject);
      child.once("exit", (code) => reject(new Error(`${file} ended with ${code} before it was ready`)));
    });
    return new ServerProcess(child, JSON.parse(line));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  async cpuSeconds(): Promise<number> {
    const answer = once(this.#child, "message");
    this.#child.send("cpu");
    return cpuMessage.parse((await answer)[0]).cpuSeconds;
  }

  async stop(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill(signal);
    await exited;
  }
}
