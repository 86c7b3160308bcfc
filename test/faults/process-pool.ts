import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import process from "node:process";
import type { Readable, Writable } from "node:stream";

/** Relative to the copy of the sources. */
const PROGRAM = path.join("test", "faults", "instance", "main.ts");

/** Processes kept ready; loading more at once would slow down the serving instances. */
const READY = 1;

/** A process that has loaded its program and waits for the start message. */
export type Spare = ChildProcessByStdio<Writable, Readable, Readable>;

/** Preloaded processes, as loading the program is most of a start. */
export class Spares {
  readonly #environment: NodeJS.ProcessEnv;
  readonly #waiting: Spare[] = [];
  readonly #sources: string;
  #made = 0;

  /**
   * @param settings environment of all instances
   * @param sources folder they run from
   * @param cacheDir compile cache shared between processes
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

  /** Ends waiting processes; none may be taken afterwards. */
  async close(): Promise<void> {
    await Promise.all(this.#waiting.splice(0).map(endSpare));
  }

  #fill(): void {
    while (this.#waiting.length < READY) this.#waiting.push(this.#make());
  }

  #make(): Spare {
    // A killed process cannot write the compile cache: the first one writes it while it waits.
    const args = this.#made++ === 0 ? ["--keep"] : [];
    return spawn(process.execPath, [PROGRAM, ...args], {
      cwd: this.#sources,
      env: this.#environment,
      stdio: ["pipe", "pipe", "pipe"],
    });
  }
}

/** Kills a process, also a stopped one, and waits for its exit. */
export async function endSpare(spare: Spare): Promise<void> {
  if (spare.exitCode !== null || spare.signalCode !== null) return;
  const ended = once(spare, "exit");
  spare.kill("SIGKILL");
  await ended;
}
