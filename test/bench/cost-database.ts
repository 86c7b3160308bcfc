import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { query } from "../support/database-server.ts";

/** How long sessions may take to end, ms. */
const PATIENCE_MS = 20_000;

/** A moment in the life of a database. */
interface Mark {
  /** By the database's clock. */
  readonly at: string;
  /** Place in the log. */
  readonly lsn: string;
}

/** Paid calls since then. */
export interface Batches {
  /** Bytes of the log, of all databases of the server. */
  readonly walBytes: number;
  /** Paid calls that were authorized and captured. */
  readonly calls: number;
  /** Transactions of both steps, each a durable commit. */
  readonly commits: number;
  /** Calls in one of them. */
  readonly batch: number;
}

/** The moment now. */
export async function mark(url: string): Promise<Mark> {
  const { rows } = await query(
    url,
    "select clock_timestamp()::text as at, pg_current_wal_insert_lsn()::text as lsn",
  );
  return { at: rows[0].at, lsn: rows[0].lsn };
}

/** Counts the batches since the mark: the calls of a batch share its transaction timestamp. */
export async function batchesSince(url: string, { at, lsn }: Mark): Promise<Batches> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(
      `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), $2)::float as wal, count(*)::integer as calls,
              (count(distinct (owner, started_at)) + count(distinct (owner, ended_at)))::integer as commits
       from run where started_at >= $1::timestamptz and ended_at is not null`,
      [at, lsn],
    );
    const { wal, calls, commits } = rows[0];
    return { walBytes: wal, calls, commits, batch: commits === 0 ? 1 : (2 * calls) / commits };
  } finally {
    await client.end();
  }
}

/** The server's counters. */
export interface Counters {
  /** Transactions, whether they wrote or not. */
  readonly transactions: number;
  /** Flushes of the log to the disk. */
  readonly flushes: number;
  /** Bytes of tables and indexes of this database. */
  readonly bytes: Readonly<Record<string, number>>;
}

/** Reads the counters. Ends all sessions first, because a session reports its statistics when it ends. */
export async function counters(url: string): Promise<Counters> {
  await endSessions(url);
  const { rows } = await query(
    url,
    `select (select xact_commit + xact_rollback from pg_stat_database
        where datname = current_database())::float as transactions,
            (select sum(fsyncs) from pg_stat_io where object = 'wal')::float as flushes,
            (select json_object_agg(name, bytes) from (
               select coalesce(pg_partition_root(oid), oid)::regclass as name,
                 sum(pg_total_relation_size(oid)) as bytes
               from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace group by 1
             ) sizes) as bytes`,
  );
  return rows[0];
}

/** Ends all sessions of this database in parallel. */
async function endSessions(url: string): Promise<void> {
  const others = "from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
  const { rows } = await query(url, `select pid, pg_terminate_backend(pid) ${others}`);
  const pids = rows.map(({ pid }) => Number(pid)).join(",");
  if (pids === "") return;
  const patience = performance.now() + PATIENCE_MS;
  while ((await query(url, `select ${others} and pid in (${pids})`)).rows.length > 0) {
    if (performance.now() > patience) throw new Error("sessions that were ended are still there");
    await sleep(10);
  }
}

/** Returns the disk wait of one small sequential commit, ms. */
export async function commitMs(url: string, times: number): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const write = () => client.query("select pg_logical_emit_message(true, 'bench', '')");
    const read = () => client.query("select pg_backend_pid()");
    await write();
    // Less a round trip that writes nothing.
    return Math.max(0, (await elapsed(times, write)) - (await elapsed(times, read))) / times;
  } finally {
    await client.end();
  }
}

async function elapsed(times: number, work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  for (let time = 0; time < times; time++) await work();
  return performance.now() - began;
}
