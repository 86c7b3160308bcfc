import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import process from "node:process";
import type { Readable, Writable } from "node:stream";

/** In the folder of the sources. */
const PROGRAM = path.join("test", "faults", "instance", "main.ts");

/** Processes that are kept ready: loading more of them at once takes their time from the instances that serve. */
const READY = 1;

/** An instance's process: it has loaded its program and waits to be told to start. */
export type Spare = ChildProcessByStdio<Writable, Readable, Readable>;

/** Processes kept ready, as loading the program is most of a start, and many start while others must go on serving. */
export class Spares {
  readonly #environment: NodeJS.ProcessEnv;
  readonly #waiting: Spare[] = [];
  readonly #sources: string;
  #made = 0;

  /**
   * @param settings the environment that all instances share
   * @param sources the folder that they run from
   * @param cacheDir where what Node has compiled is kept from one process to the next
   */
  constructor(settings: Readonly<Record<string, string>>, sources: string, cacheDir: string) {
    const { PATH = "", HOME = "" } = process.env;
    this.#environment = { PATH, HOME, NODE_COMPILE_CACHE: cacheDir, ...settings };
    this.#sources = sources;
    this.#fill();
  }

  take(): Spare {
    const spare = this.#waiting.shift() ?? this.#make();
    this.#fill();
    return spare;
  }

  /** Ends those that wait. Nobody may take one any more. */
  async close(): Promise<void> {
    await Promise.all(this.#waiting.splice(0).map(endSpare));
  }

  #fill(): void {
    while (this.#waiting.length < READY) this.#waiting.push(this.#make());
  }

  #make(): Spare {
    // One that is killed has no time to keep what it compiled: the first does so while it waits.
    const args = this.#made++ === 0 ? ["--keep"] : [];
    return spawn(process.execPath, [PROGRAM, ...args], {
      cwd: this.#sources,
      env: this.#environment,
      stdio: ["pipe", "pipe", "pipe"],
    });
  }
}

/** Ends a process at once, also one that is stopped, and waits until it has gone. */
export async function endSpare(spare: Spare): Promise<void> {
  if (spare.exitCode !== null || spare.signalCode !== null) return;
  const ended = once(spare, "exit");
  spare.kill("SIGKILL");
  await ended;
}
