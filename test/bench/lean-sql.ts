import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { query } from "../support/database-server.ts";
import type { Bench } from "./bench.ts";
import { Latencies } from "./latencies.ts";
import { microsOf, type Rate, type Side } from "./measure.ts";

const run = promisify(execFile);
const FOLDER = import.meta.dirname;

/**
 * Opens a database with funded accounts, which pgbench pays from with the leanest SQL, one call at a time on
 * each connection. @param name of the database
 * @returns a side with that many of the accounts and connections
 */
export async function openLeanSql(
  bench: Bench,
  name: string,
): Promise<(accounts: number, connections: number) => Side> {
  const url = await bench.world.createDatabase(name);
  await query(url, await readFile(path.join(FOLDER, "lean-tables.sql"), "utf8"));
  const pgbench = await findPgbench();
  const { quick, warmUpMs, windowMs } = bench.plan;
  return (accounts, connections) => async () => {
    const call = async (end: string[], log: string[] = []): Promise<string> => {
      const load = [
        "-n",
        "-M",
        "prepared",
        "-c",
        String(connections),
        "-j",
        "2",
        "-D",
        `accounts=${accounts}`,
      ];
      return (await run(pgbench, [...load, ...end, ...log, "-f", "lean-call.sql", url], { cwd: FOLDER }))
        .stdout;
    };
    // pgbench accepts whole seconds only.
    const [warmUp, end] = quick
      ? [undefined, ["-t", "10"]]
      : [
          ["-T", String(Math.ceil(warmUpMs / 1000))],
          ["-T", String(Math.ceil(windowMs / 1000))],
        ];
    if (warmUp) await call(warmUp);
    const folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-pgbench-"));
    try {
      const before = [await receipts(url), await bench.databaseCpu()] as const;
      const report = await call(end, ["--log", "--log-prefix", path.join(folder, "log")]);
      const [made, cpu] = [(await receipts(url)) - before[0], await bench.databaseCpu()];
      return { ...(await rateOf(report, folder, made)), databaseMicros: microsOf(before[1], cpu, made) };
    } finally {
      await rm(folder, { recursive: true });
    }
  };
}

/** @throws Error for a call without a receipt */
async function rateOf(report: string, folder: string, made: number): Promise<Rate> {
  const calls = Number(/actually processed: (\d+)/.exec(report)?.[1]);
  const perSecond = Number(/^tps = ([\d.]+)/m.exec(report)?.[1]);
  if (!(calls > 0) || made < calls) throw new Error(`${made} receipts were made:\n${report}`);
  const latencies = new Latencies();
  for (const name of await readdir(folder))
    for (const line of (await readFile(path.join(folder, name), "utf8")).split("\n")) {
      // The third field is the duration in microseconds.
      const micros = Number(line.split(" ")[2]);
      if (micros > 0) latencies.count(micros / 1000);
    }
  return { perSecond, p50Ms: latencies.percentile(0.5), p99Ms: latencies.percentile(0.99) };
}

async function receipts(url: string): Promise<number> {
  return (await query(url, "select count(*)::integer as made from lean_receipt")).rows[0].made;
}

/** pgbench of the system; the npm package of the embedded PostgreSQL has none. */
async function findPgbench(): Promise<string> {
  const versions = await readdir("/usr/lib/postgresql").catch(() => []);
  for (const candidate of ["pgbench", ...versions.map((each) => `/usr/lib/postgresql/${each}/bin/pgbench`)])
    if (await run(candidate, ["--version"]).catch(() => undefined)) return candidate;
  throw new Error("pgbench is missing: apt-get install postgresql-contrib");
}
