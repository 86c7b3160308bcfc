import { spawn, type ChildProcessByStdio } from "node:child_process";
import { cp, mkdir, symlink } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import type { Readable, Writable } from "node:stream";
import { stopChild } from "../support/child.ts";
import { ROOT } from "../tooling/command.ts";

/** What an instance needs of the sources. */
const SOURCES = ["package.json", "src", "gen", "proto", "test/faults", "test/lab-kit"];

/** A process that has loaded its program and waits for the start message. */
export type Spare = ChildProcessByStdio<Writable, Readable, Readable>;

/** Processes that have loaded the program, as that is most of a start; one waits. */
export class Spares {
  readonly #environment: NodeJS.ProcessEnv;
  readonly #sources: string;
  #waiting: Spare;

  private constructor(environment: NodeJS.ProcessEnv, sources: string) {
    this.#environment = environment;
    this.#sources = sources;
    this.#waiting = this.#make();
  }

  /**
   * Copies the sources, so that edits during the run change nothing.
   * @param settings environment of all instances
   */
  static async open(settings: Readonly<Record<string, string>>, folder: string): Promise<Spares> {
    const sources = path.join(folder, "sources");
    await mkdir(sources);
    for (const part of SOURCES)
      await cp(path.join(ROOT, part), path.join(sources, part), { recursive: true });
    await symlink(path.join(ROOT, "node_modules"), path.join(sources, "node_modules"), "dir");
    const { PATH = "", HOME = "" } = process.env;
    const environment = { PATH, HOME, NODE_COMPILE_CACHE: path.join(folder, "compiled"), ...settings };
    return new Spares(environment, sources);
  }

  take(): Spare {
    const spare = this.#waiting;
    this.#waiting = this.#make();
    return spare;
  }

  /** Ends the waiting process; none may be taken afterwards. */
  close(): Promise<void> {
    return stopChild(this.#waiting, "SIGKILL");
  }

  #make(): Spare {
    const options = { cwd: this.#sources, env: this.#environment };
    return spawn(process.execPath, ["test/faults/instance/main.ts"], {
      ...options,
      stdio: ["pipe", "pipe", "pipe"],
    });
  }
}
