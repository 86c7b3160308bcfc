import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";

/** A process that the run started. */
export interface KnownProcess {
  readonly pid: number;
  /** Ticks since boot: a number that is used again is another process. */
  readonly started: string;
  /** Its command line, shortened. */
  readonly command: string;
  /** The command at first sight. */
  readonly during: string;
}

interface Entry {
  readonly parent: number;
  readonly started: string;
  readonly state: string;
}

const COMMAND_LENGTH = 120;

/**
 * Collects every descendant of a process, also after its parents ended and init adopted it. Needs /proc:
 * finds nothing on other systems.
 */
export class ProcessTree {
  readonly #known = new Map<number, KnownProcess>();
  readonly #roots: readonly number[];
  readonly #mark: string;

  /** @param mark a value in the environment of every process of the run, to find those between samples */
  constructor(roots: readonly number[], mark: string) {
    this.#roots = roots;
    this.#mark = mark;
  }

  /** Finds new descendants. */
  sample(during: string): void {
    const table = readTable();
    for (const [pid, { started }] of this.#known)
      if (table.get(pid)?.started !== started) this.#known.delete(pid);
    let found = true;
    while (found) {
      found = false;
      for (const [pid, entry] of table) {
        if (this.#known.has(pid) || this.#roots.includes(pid) || !this.#isOurs(entry.parent)) continue;
        this.#known.set(pid, { pid, started: entry.started, command: commandOf(pid), during });
        found = true;
      }
    }
  }

  /** Live descendants, without the roots. */
  alive(): KnownProcess[] {
    const table = readTable();
    for (const [pid, { started }] of table) {
      const unknown = !this.#known.has(pid) && !this.#roots.includes(pid) && pid !== process.pid;
      if (unknown && this.#isMarked(pid)) {
        this.#known.set(pid, { pid, started, command: commandOf(pid), during: "?" });
      }
    }
    return [...this.#known.values()].filter(({ pid, started }) => {
      const entry = table.get(pid);
      return entry?.started === started && entry.state !== "Z";
    });
  }

  #isOurs(pid: number): boolean {
    return this.#roots.includes(pid) || this.#known.has(pid);
  }

  #isMarked(pid: number): boolean {
    return this.#mark !== "" && (read(`/proc/${pid}/environ`) ?? "").includes(this.#mark);
  }
}

/** Kills them at once; ignores those that have ended. */
export function killAll(processes: readonly { readonly pid: number }[]): void {
  for (const { pid } of processes) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended, or is another user's.
    }
  }
}

/** Kills whatever this process has started and is still there. */
export function killDescendants(): void {
  const tree = new ProcessTree([process.pid], "");
  tree.sample("the end");
  killAll(tree.alive());
}

function readTable(): Map<number, Entry> {
  const table = new Map<number, Entry>();
  for (const name of folders()) {
    const stat = read(`/proc/${name}/stat`);
    if (stat === undefined) continue;
    // The command's name is in brackets and may contain anything; proc(5) counts the state as the third
    // field.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state = "", parent = ""] = fields;
    table.set(Number(name), { state, parent: Number(parent), started: fields[19] ?? "" });
  }
  return table;
}

function folders(): string[] {
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

function commandOf(pid: number): string {
  return (read(`/proc/${pid}/cmdline`) ?? "").replaceAll("\0", " ").trim().slice(0, COMMAND_LENGTH);
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
