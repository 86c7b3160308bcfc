import { readFileSync } from "node:fs";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

/** Tracks all descendants of this process. */
export class ProcessWatch {
  /** Peak memory per process, MiB, by id and start time. */
  readonly #seen = new Map<string, number>();
  readonly #before: ReadonlySet<string>;
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#before = new Set(descendants(process.pid).map(identityOf));
    this.#timer = setInterval(() => this.#look(), 20);
  }

  get mostResidentMb(): number {
    return Math.max(0, ...this.#seen.values());
  }

  get count(): number {
    return this.#seen.size;
  }

  /**
   * Stops when none is left or after a time limit.
   * @returns the remaining ones as in /proc
   */
  async end(): Promise<string[]> {
    for (let round = 0; round < 100 && this.#left().length > 0; round++) await sleep(50);
    clearInterval(this.#timer);
    return this.#left();
  }

  #look(): void {
    for (const pid of descendants(process.pid)) {
      const identity = identityOf(pid);
      if (identity === GONE || this.#before.has(identity)) continue;
      const peak = Number(/^VmHWM:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1024;
      this.#seen.set(identity, Math.max(peak, this.#seen.get(identity) ?? 0));
    }
  }

  #left(): string[] {
    return [...this.#seen.keys()]
      .filter((identity) => identityOf(Number(identity.split(" ")[0])) === identity)
      .map(
        (identity) => `${identity}: ${read(`/proc/${identity.split(" ")[0]}/cmdline`).replaceAll("\0", " ")}`,
      );
  }
}

export function descendants(pid: number): number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).trim().split(" ").filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...descendants(child)]);
}

const GONE = "";

/** Ids are reused; with its start time a process is unique. */
function identityOf(pid: number): string {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === "") return GONE;
  return `${pid} ${stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? ""}`;
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
