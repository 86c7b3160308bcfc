import { readFileSync } from "node:fs";

/** A clock tick of /proc, ms: USER_HZ is 100 on every Linux that Node and Deno run on. */
const TICK_MS = 10;

/** What a process uses. */
export interface Usage {
  /** Processor time of all its threads, ms. */
  readonly cpuMs: number;
  /** Memory that it has in use, MiB. */
  readonly residentMb: number;
  /** What RLIMIT_DATA counts, MiB. */
  readonly dataMb: number;
}

/** What it uses now; undefined when it is gone. */
export function usageOf(pid: number): Usage | undefined {
  const stat = read(`/proc/${pid}/stat`);
  const status = read(`/proc/${pid}/status`);
  if (stat === undefined || status === undefined) return undefined;
  // The command's name stands in brackets and may hold anything; the 14th and 15th fields are utime and stime.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const cpuMs = (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  return { cpuMs, residentMb: megabytes(status, "VmRSS"), dataMb: megabytes(status, "VmData") };
}

/** A size of /proc/PID/status; 0 where there is none: a process that has ended has no memory any more. */
function megabytes(status: string, name: string): number {
  const size = new RegExp(String.raw`^${name}:\s+(\d+) kB$`, "m").exec(status)?.[1];
  return Number(size ?? 0) / 1024;
}

/** The youngest generation of a process that was started through others: bubblewrap's child's child. */
export function leafOf(pid: number): number {
  const children = read(`/proc/${pid}/task/${pid}/children`)?.trim() ?? "";
  const first = Number(children.split(" ")[0]);
  return first > 0 ? leafOf(first) : pid;
}

/** A line of /proc/PID/status, e.g. "VmData", as written there. */
export function statusLine(pid: number, name: string): string | undefined {
  const line = read(`/proc/${pid}/status`)
    ?.split("\n")
    .find((line) => line.startsWith(`${name}:`));
  return line?.slice(name.length + 1).trim();
}

/** A file of /proc; undefined when the process is gone. */
export function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
