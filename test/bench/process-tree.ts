import { readdir, readFile } from "node:fs/promises";

/** Clock ticks per second in /proc/<pid>/stat: always 100 on Linux. */
const USER_HZ = 100;

export interface TreeUse {
  /** Resident memory, MB (10^6 bytes): of the process, and of its descendants. */
  readonly ownMb: number;
  readonly othersMb: number;
  /** User and system CPU time of all of them, with children that have ended. */
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

/** proc(5): field 2 is the name in parentheses, 4 the parent, 14 to 17 times. */
async function processOf(pid: number): Promise<Process | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (!fields) return undefined;
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return { pid, parent: Number(fields[1]), cpuSeconds: ticks / USER_HZ };
}

async function residentMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return (Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024) / 1_000_000;
}
