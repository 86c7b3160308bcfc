import { readFileSync } from "node:fs";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

/** Follows the processes below this one, however deep, from when it is made. */
export class ProcessWatch {
  /** Each that was seen, by number and start, and the most memory that it ever had in use, MiB. */
  readonly #seen = new Map<string, number>();
  readonly #before: ReadonlySet<string>;
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#before = new Set(descendants(process.pid).map(identityOf));
    this.#timer = setInterval(() => this.#look(), 20);
  }

  /** The most memory that one of them ever had in use, MiB. */
  get mostResidentMb(): number {
    return Math.max(0, ...this.#seen.values());
  }

  /** How many were seen. */
  get count(): number {
    return this.#seen.size;
  }

  /** Ends the watch once none of them is left, or after a while. @returns those that are left, as /proc tells of them */
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

/** All processes below one. */
export function descendants(pid: number): number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).trim().split(" ").filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...descendants(child)]);
}

/** Of a process that has ended, and was waited for. */
const GONE = "";

/** A number may be given again: with the time of its start it is a process's own. */
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
