import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { query } from "../support/database-server.ts";
import type { Plan, Rate, Side } from "./measure.ts";
import { BEGIN, FINISH } from "./paid-sql.ts";
import { runSqlLoop } from "./sql-loop.ts";
import type { World } from "./world.ts";

const run = promisify(execFile);

/** How a round is driven. */
export interface SqlLoad {
  readonly accounts: number;
  readonly connections: number;
}

/** PostgreSQL doing the SQL of paid calls and nothing else. */
export interface SqlPeer {
  /** What drives it. */
  readonly name: string;
  side(load: SqlLoad, plan: Plan): Side;
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
  const pgbench = await findPgbench();
  if (pgbench === undefined)
    return { name: "pg driver loop", side: (load, plan) => () => verified(url, () => runSqlLoop(url, load, plan)) };
  return { name: "pgbench", side: (load, plan) => () => verified(url, () => runPgbench(pgbench, url, load, plan)) };
}

/** Checks that what was counted as done was done: a receipt for each call, and no call half way. */
async function verified(url: string, work: () => Promise<Counted>): Promise<Rate> {
  const before = await receipts(url);
  const { calls, perSecond } = await work();
  const made = (await receipts(url)) - before;
  // pgbench leaves transactions that its time cuts off uncounted, one a connection at most.
  if (made < calls) throw new Error(`${calls} calls were counted and ${made} receipts made`);
  return { perSecond, cpuMicros: undefined };
}

/** What a run counted. */
export interface Counted {
  readonly calls: number;
  readonly perSecond: number;
}

async function receipts(url: string): Promise<number> {
  const { rows } = await query(url, "select count(*)::integer as made from receipt");
  return rows[0].made;
}

/** One script execution is one call: begin, then finish, each a transaction. */
async function runPgbench(
  pgbench: string,
  url: string,
  { accounts, connections }: SqlLoad,
  { windowMs }: Plan,
): Promise<Counted> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-pgbench-"));
  try {
    const script = path.join(folder, "paid-call.sql");
    await writeFile(script, `\\set account random(1, ${accounts})\n${BEGIN(":account")} \\gset\n${FINISH(":run")};\n`);
    const seconds = String(Math.max(1, Math.round(windowMs / 1000)));
    const args = ["-n", "-M", "prepared", "-c", String(connections), "-j", "2", "-T", seconds, "-f", script, url];
    const { stdout } = await run(pgbench, args);
    const perSecond = Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1]);
    const calls = Number(/^number of transactions actually processed: (\d+)/m.exec(stdout)?.[1]);
    if (!(perSecond > 0) || !(calls > 0)) throw new Error(`pgbench counted nothing:\n${stdout}`);
    return { calls, perSecond };
  } finally {
    await rm(folder, { recursive: true });
  }
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
