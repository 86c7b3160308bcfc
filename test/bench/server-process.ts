import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { z } from "zod";
import { ROOT } from "../tooling/command.ts";

/** Clock ticks a second in /proc/<pid>/stat: USER_HZ, which Linux keeps at 100 on every platform that Node runs on. */
const USER_HZ = 100;

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

/** A server under measurement, a process of its own. */
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

  /** CPU time that it has used up to now, user and system, in seconds: by the system's books (to 10 ms), else by its own. */
  async cpuSeconds(): Promise<number> {
    const stat = await this.#proc("stat");
    if (stat === undefined) {
      const answer = once(this.#child, "message");
      this.#child.send("cpu");
      return cpuMessage.parse((await answer)[0]).cpuSeconds;
    }
    // proc(5): the second field is the name in parentheses, which may hold anything; utime and stime are the 14th and 15th.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) / USER_HZ;
  }

  /** Has it give back what it does not hold any more, so that its resident memory is what it needs. */
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
