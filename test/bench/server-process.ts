import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { z } from "zod";
import { ROOT } from "../tooling/command.ts";
import { USER_HZ } from "./process-tree.ts";

/** Options of Node that tie a process to the benchmark. */
export const ATTACHED = ["--import", import.meta.resolve("./attached.mjs")];

const cpuMessage = z.object({ cpuSeconds: z.number() });

/** How a process is started. */
export interface StartOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Options of Node itself. */
  readonly nodeOptions?: readonly string[];
}

/** A server under measurement in its own process. */
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

  /** Undefined once it has ended. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Returns user and system CPU time in seconds, from /proc (to 10 ms) or else from the process. */
  async cpuSeconds(): Promise<number> {
    const stat = await this.#proc("stat");
    if (stat === undefined) {
      const answer = once(this.#child, "message");
      this.#child.send("cpu");
      return cpuMessage.parse((await answer)[0]).cpuSeconds;
    }
    // proc(5): field 2 is the name in parentheses; 14 and 15 are utime and stime.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) / USER_HZ;
  }

  /** Collects garbage so that resident memory shows what is in use. */
  async collectGarbage(): Promise<void> {
    const answer = once(this.#child, "message");
    this.#child.send("collect");
    await answer;
  }

  /** Resident memory in MB (10^6 bytes); undefined where the system has no /proc. */
  async residentMegabytes(): Promise<number | undefined> {
    const status = await this.#proc("status");
    const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(status ?? "")?.[1];
    return kibibytes === undefined ? undefined : (Number(kibibytes) * 1024) / 1_000_000;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    await exited;
  }

  async #proc(file: string): Promise<string | undefined> {
    return readFile(`/proc/${this.#child.pid}/${file}`, "utf8").catch(() => undefined);
  }
}
