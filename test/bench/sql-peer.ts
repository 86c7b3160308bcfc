import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { query } from "../support/database-server.ts";
import { Latencies } from "./latencies.ts";
import type { Plan, Rate, Side } from "./measure.ts";
import { BEGIN, COMMIT, FINISH } from "./paid-sql.ts";
import { runSqlLoop } from "./sql-loop.ts";
import type { World } from "./world.ts";

const run = promisify(execFile);

/** What a connection does in a short window. */
const FEW_TRANSACTIONS = 10;

/** How a round is driven. */
export interface SqlLoad {
  readonly accounts: number;
  readonly connections: number;
}

/** What is driven: paid calls, or pairs of bare commits. */
export interface SqlJob extends SqlLoad {
  readonly kind: "calls" | "commits";
}

/** PostgreSQL doing the SQL of paid calls and nothing else. */
export interface SqlPeer {
  /** What drives it. */
  readonly name: string;
  /** Paid calls, two transactions each. */
  calls(load: SqlLoad, plan: Plan): Side;
  /** The least that is as durable: two transactions that write a tiny row each. Tells latencies. */
  commits(connections: number, plan: Plan): Side;
}

/** Makes a database like the gateway's, with as many funded accounts, beside it on the same server. */
export async function openSqlPeer(world: World, accounts: number): Promise<SqlPeer> {
  const url = await world.createDatabase("peer");
  // The accounts have numbers for identifiers, so that a script can name them.
  await query(
    url,
    `insert into account (id, wallet, rate_per_minute, burst)
     select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'wallet ' || n, 60, 10 from generate_series(1, ${accounts}) n`,
  );
  await query(
    url,
    "select ledger_adjust(id, 1000000000000, uuid_send(id), 'starting balance') from account where wallet like 'wallet %'",
  );
  await query(url, "create table tiny (id bigserial primary key)");
  const pgbench = await findPgbench();
  const run = pgbench === undefined ? runSqlLoop : runPgbenchOf(pgbench);
  return {
    name: pgbench === undefined ? "pg driver loop" : "pgbench",
    calls: (load, plan) => () => verified(url, () => run(url, callScript(load), plan)),
    commits: (connections, plan) => async () => {
      const { perSecond, latencies } = await run(url, { kind: "commits", accounts: 1, connections }, plan);
      return { perSecond, p50Ms: latencies.percentile(0.5), p99Ms: latencies.percentile(0.99) };
    },
  };
}

function callScript(load: SqlLoad): SqlJob {
  return { kind: "calls", ...load };
}

/** Checks that what was counted as done was done: a receipt for each call, and no call half way. */
async function verified(url: string, work: () => Promise<Counted>): Promise<Rate> {
  const before = await receipts(url);
  const { calls, perSecond } = await work();
  const made = (await receipts(url)) - before;
  // pgbench leaves transactions that its time cuts off uncounted, one a connection at most.
  if (made < calls) throw new Error(`${calls} calls were counted and ${made} receipts made`);
  return { perSecond };
}

/** What a run counted. */
export interface Counted {
  readonly calls: number;
  readonly perSecond: number;
  readonly latencies: Latencies;
}

async function receipts(url: string): Promise<number> {
  const { rows } = await query(url, "select count(*)::integer as made from receipt");
  return rows[0].made;
}

/** One script execution is one call: begin, then finish, each a transaction; or one pair of commits. */
function scriptOf({ kind, accounts }: SqlJob): string {
  if (kind === "commits") return `${COMMIT};\n${COMMIT};\n`;
  return `\\set account random(1, ${accounts})\n${BEGIN(":account")} \\gset\n${FINISH(":run")};\n`;
}

function runPgbenchOf(pgbench: string) {
  return async (url: string, job: SqlJob, { windowMs }: Plan): Promise<Counted> => {
    const folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-pgbench-"));
    try {
      const script = path.join(folder, "script.sql");
      await writeFile(script, scriptOf(job));
      const load = ["-c", String(job.connections), "-j", "2", ...endOf(windowMs)];
      const log = ["--log", "--log-prefix", path.join(folder, "log")];
      const { stdout } = await run(pgbench, ["-n", "-M", "prepared", ...load, ...log, "-f", script, url]);
      const perSecond = Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1]);
      const calls = Number(/^number of transactions actually processed: (\d+)/m.exec(stdout)?.[1]);
      if (!(perSecond > 0) || !(calls > 0)) throw new Error(`pgbench counted nothing:\n${stdout}`);
      return { calls, perSecond, latencies: await logged(folder) };
    } finally {
      await rm(folder, { recursive: true });
    }
  };
}

/** When it ends: it knows whole seconds only. A window that is shorter than one has so many transactions a connection. */
function endOf(windowMs: number): string[] {
  return windowMs < 1_000 ? ["-t", String(FEW_TRANSACTIONS)] : ["-T", String(Math.round(windowMs / 1_000))];
}

/** The latencies in pgbench's logs: the third field of a line is what a script took, in microseconds. */
async function logged(folder: string): Promise<Latencies> {
  const latencies = new Latencies();
  for (const name of await readdir(folder)) {
    if (!name.startsWith("log")) continue;
    const text = await readFile(path.join(folder, name), "utf8");
    for (const line of text.split("\n")) if (line !== "") latencies.count(Number(line.split(" ")[2]) / 1000);
  }
  return latencies;
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
