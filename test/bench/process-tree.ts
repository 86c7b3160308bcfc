import { readdir, readFile } from "node:fs/promises";

/** Clock ticks per second in /proc/<pid>/stat: always 100 on Linux. */
export const USER_HZ = 100;

/** Resources of a process and its descendants. */
export interface TreeUse {
  /** Resident memory, MB (10^6 bytes): of the process, and of its descendants. */
  readonly ownMb: number;
  readonly othersMb: number;
  /** User and system CPU time of all of them. */
  readonly cpuSeconds: number;
}

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly cpuSeconds: number;
}

/** Reads /proc; undefined where the system has none. */
export async function treeUse(root: number): Promise<TreeUse | undefined> {
  const pids = (await readdir("/proc").catch(() => [])).map(Number).filter((pid) => pid > 0);
  const all = (await Promise.all(pids.map(processOf))).filter((each) => each !== undefined);
  const tree = all.filter(({ pid }) => pid === root);
  for (const { pid } of tree) tree.push(...all.filter(({ parent }) => parent === pid));
  if (tree.length === 0) return undefined;
  const [own = 0, ...others] = await Promise.all(tree.map(({ pid }) => residentMegabytes(pid)));
  return {
    ownMb: own,
    othersMb: others.reduce((sum, megabytes) => sum + megabytes, 0),
    cpuSeconds: tree.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
  };
}

/** proc(5): field 2 is the name in parentheses; 4 is the parent, 14 and 15 are utime and stime. */
async function processOf(pid: number): Promise<Process | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { pid, parent: Number(fields[1]), cpuSeconds: (Number(fields[11]) + Number(fields[12])) / USER_HZ };
}

async function residentMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return (Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024) / 1_000_000;
}
