import { readFileSync } from "node:fs";

/** USER_HZ is 100 on every Linux that Node and Deno support. */
const TICK_MS = 10;

export interface Usage {
  /** CPU time of all threads, ms. */
  readonly cpuMs: number;
  /** Resident memory, MiB. */
  readonly residentMb: number;
  /** As counted by RLIMIT_DATA, MiB. */
  readonly dataMb: number;
}

/** Returns current usage; undefined if the process is gone. */
export function usageOf(pid: number): Usage | undefined {
  const stat = read(`/proc/${pid}/stat`);
  const status = read(`/proc/${pid}/status`);
  if (stat === undefined || status === undefined) return undefined;
  // The command name in brackets may contain anything; fields 14 and 15 are utime and stime.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const cpuMs = (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  return { cpuMs, residentMb: megabytes(status, "VmRSS"), dataMb: megabytes(status, "VmData") };
}

/** Reads a size of /proc/PID/status; 0 for a zombie. */
function megabytes(status: string, name: string): number {
  const size = new RegExp(String.raw`^${name}:\s+(\d+) kB$`, "m").exec(status)?.[1];
  return Number(size ?? 0) / 1024;
}

/** Follows the first child down: bubblewrap starts the worker as a grandchild. */
export function leafOf(pid: number): number {
  const children = read(`/proc/${pid}/task/${pid}/children`)?.trim() ?? "";
  const first = Number(children.split(" ")[0]);
  return first > 0 ? leafOf(first) : pid;
}

/** Returns a line of /proc/PID/status, e.g. "VmData". */
export function statusLine(pid: number, name: string): string | undefined {
  const line = read(`/proc/${pid}/status`)
    ?.split("\n")
    .find((line) => line.startsWith(`${name}:`));
  return line?.slice(name.length + 1).trim();
}

/** Reads a file of /proc; undefined if the process is gone. */
export function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
