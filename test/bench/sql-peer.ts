import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { query } from "../support/database-server.ts";
import { Latencies } from "./latencies.ts";
import { LEAN_CALL, leanTables, TWO_COMMITS } from "./lean-sql.ts";
import { isShort, type Plan, type Rate, type Side } from "./measure.ts";
import { runSqlLoop } from "./sql-loop.ts";
import type { World } from "./world.ts";

const run = promisify(execFile);

/** Calls of a connection in a short window. */
const FEW_TRANSACTIONS = 10;

/** How a round is driven. */
export interface SqlLoad {
  readonly accounts: number;
  readonly connections: number;
}

/** The load, and the statements of a call; the first row of each sets variables for the next. */
export interface SqlJob extends SqlLoad {
  readonly statements: readonly string[];
}

/** PostgreSQL doing the SQL of paid calls and nothing else. */
export interface SqlPeer {
  /** The load generator. */
  readonly name: string;
  /** Paid calls, two transactions each. */
  calls(load: SqlLoad, plan: Plan): Side;
  /** The durable minimum: two transactions that write a small row each. Measures latencies. */
  commits(connections: number, plan: Plan): Side;
}

/** Creates the lean tables with as many funded accounts, in a database beside the gateway's. */
export async function openSqlPeer(world: World, accounts: number): Promise<SqlPeer> {
  const url = await world.createDatabase("peer");
  await query(url, leanTables(accounts));
  const pgbench = await findPgbench();
  const run = pgbench === undefined ? runSqlLoop : runPgbenchOf(pgbench);
  return {
    name: `lean SQL by ${pgbench === undefined ? "pg driver loop" : "pgbench"}`,
    calls: (load, plan) => () => verified(url, () => run(url, { ...load, statements: LEAN_CALL }, plan)),
    commits: (connections, plan) => async () => {
      const job = { statements: TWO_COMMITS, accounts: 1, connections };
      const { perSecond, latencies } = await run(url, job, plan);
      return { perSecond, p50Ms: latencies.percentile(0.5), p99Ms: latencies.percentile(0.99) };
    },
  };
}

/** Checks the count: a receipt for each call, and no unfinished call. */
async function verified(url: string, work: () => Promise<Counted>): Promise<Rate> {
  const before = await receipts(url);
  const { calls, perSecond } = await work();
  const made = (await receipts(url)) - before;
  // pgbench leaves transactions that its time cuts off uncounted, one a connection at most.
  if (made < calls) throw new Error(`${calls} calls were counted and ${made} receipts made`);
  return { perSecond };
}

/** Counters of a run. */
export interface Counted {
  readonly calls: number;
  readonly perSecond: number;
  readonly latencies: Latencies;
}

async function receipts(url: string): Promise<number> {
  const { rows } = await query(url, "select count(*)::integer as made from lean_receipt");
  return rows[0].made;
}

/** One script execution is one call. */
function scriptOf({ statements, accounts }: SqlJob): string {
  const lines = statements.map((text) => (text.includes("returning") ? `${text} \\gset` : `${text};`));
  return [`\\set account random(1, ${accounts})`, ...lines, ""].join("\n");
}

function runPgbenchOf(pgbench: string) {
  return async (url: string, job: SqlJob, plan: Plan): Promise<Counted> => {
    const folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-pgbench-"));
    try {
      const script = path.join(folder, "script.sql");
      await writeFile(script, scriptOf(job));
      const load = ["-c", String(job.connections), "-j", "2", ...endOf(plan)];
      const log = ["--log", "--log-prefix", path.join(folder, "log")];
      const { stdout } = await run(pgbench, ["-n", "-M", "prepared", ...load, ...log, "-f", script, url]);
      return countOf(await logged(folder), warmUpOf(plan)) ?? fail(`pgbench counted nothing:\n${stdout}`);
    } finally {
      await rm(folder, { recursive: true });
    }
  };
}

/** pgbench accepts whole seconds only; shorter windows use a number of transactions per connection. */
function endOf(plan: Plan): string[] {
  if (isShort(plan)) return ["-t", String(FEW_TRANSACTIONS)];
  return ["-T", String(Math.ceil((warmUpOf(plan) + plan.windowMs) / 1_000))];
}

/** Warm-up, ms: new connections first plan and compile the functions. */
function warmUpOf(plan: Plan): number {
  return isShort(plan) ? 0 : plan.warmUpMs;
}

/** A finished script: its time and duration, ms. */
interface Done {
  readonly atMs: number;
  readonly ms: number;
}

/**
 * pgbench log line: field 3 is the duration in microseconds, the last two are the end in seconds and
 * microseconds.
 */
async function logged(folder: string): Promise<Done[]> {
  const done: Done[] = [];
  for (const name of await readdir(folder)) {
    if (!name.startsWith("log")) continue;
    const text = await readFile(path.join(folder, name), "utf8");
    for (const line of text.split("\n")) {
      const [, , micros, , seconds, rest] = line.split(" ").map(Number);
      if (micros !== undefined && seconds !== undefined && rest !== undefined)
        done.push({ atMs: seconds * 1_000 + rest / 1_000, ms: micros / 1_000 });
    }
  }
  return done.sort((one, other) => one.atMs - other.atMs);
}

/** Results after the warm-up; undefined without any. */
function countOf(done: readonly Done[], warmUpMs: number): Counted | undefined {
  const [first] = done;
  const from = first && first.atMs - first.ms + warmUpMs;
  const counted = from === undefined ? [] : done.filter(({ atMs }) => atMs >= from);
  const last = counted.at(-1);
  if (from === undefined || !last || last.atMs === from) return undefined;
  const latencies = new Latencies();
  for (const { ms } of counted) latencies.count(ms);
  return { calls: counted.length, perSecond: counted.length / ((last.atMs - from) / 1_000), latencies };
}

function fail(message: string): never {
  throw new Error(message);
}

/** pgbench of the system; the npm package of the embedded PostgreSQL has none. */
async function findPgbench(): Promise<string | undefined> {
  const versions = await readdir("/usr/lib/postgresql").catch(() => []);
  const candidates = ["pgbench", ...versions.map((version) => `/usr/lib/postgresql/${version}/bin/pgbench`)];
  for (const candidate of candidates) {
    const found = await run(candidate, ["--version"]).catch(() => undefined);
    if (found) return candidate;
  }
  return undefined;
}
