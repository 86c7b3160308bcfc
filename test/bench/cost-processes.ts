import { readdir, readFile } from "node:fs/promises";
import { query } from "../support/database-server.ts";

/** Clock ticks a second in /proc/<pid>/stat, as in server-process.ts. */
const USER_HZ = 100;

/** CPU time of all PostgreSQL processes. */
export class DatabaseProcesses {
  readonly #postmaster: number;

  private constructor(postmaster: number) {
    this.#postmaster = postmaster;
  }

  /** @returns undefined where the system has no /proc, or the server is on another machine */
  static async find(databaseUrl: string): Promise<DatabaseProcesses | undefined> {
    const client = await query(databaseUrl, "select current_setting('data_directory') as folder");
    const pidFile = await readFile(`${client.rows[0].folder}/postmaster.pid`, "utf8").catch(() => undefined);
    const postmaster = Number(pidFile?.split("\n")[0]);
    return (await statOf(postmaster)) ? new DatabaseProcesses(postmaster) : undefined;
  }

  /**
   * Returns user and system CPU time in seconds, including ended processes, whose time the system adds to the
   * parent.
   */
  async cpuSeconds(): Promise<number> {
    const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
    const stats = await Promise.all(pids.map(statOf));
    const parent = stats.find((stat) => stat?.pid === this.#postmaster);
    if (!parent) throw new Error("PostgreSQL has ended");
    const children = stats.filter((stat) => stat?.parent === this.#postmaster);
    return children.reduce((total, stat) => total + (stat?.own ?? 0), parent.own + parent.waitedFor);
  }
}

interface Stat {
  readonly pid: number;
  readonly parent: number;
  /** Seconds. */
  readonly own: number;
  /** Of children that have ended, seconds. */
  readonly waitedFor: number;
}

/** proc(5): field 2 is the name in parentheses, 4 the parent, 14 to 17 times. */
async function statOf(pid: number): Promise<Stat | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (stat === undefined) return undefined;
  const fields = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .map(Number);
  const [parent = 0, utime = 0, stime = 0, cutime = 0, cstime = 0] = [1, 11, 12, 13, 14].map(
    (index) => fields[index],
  );
  return { pid, parent, own: (utime + stime) / USER_HZ, waitedFor: (cutime + cstime) / USER_HZ };
}
