import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseError, type Pool, type PoolClient } from "pg";
import { ToolgateError } from "../../domain/core/errors.ts";
import { ARCHIVED_TABLES, type VerifiedMonth } from "../../app/operations/archive/month-archive.ts";
import type { Month } from "../../domain/core/month.ts";
import { longQuery } from "../database/pool.ts";
import { partitionOf } from "./month-tables.ts";

/** Calls wait behind a statement that waits for a lock, so it waits no longer than this. */
const LOCK_WAIT = "500ms";

/** Attempts, and the pause between them, ms: a long read may hold its lock for minutes. */
const [ATTEMPTS, PAUSE_MS] = [300, 1_000];

/** SQLSTATE lock_not_available, deadlock_detected. */
const BUSY: ReadonlySet<string | undefined> = new Set(["55P03", "40P01"]);

/**
 * Runs the work in one transaction whose locks are brief, again while others hold them.
 * @throws ToolgateError UNAVAILABLE when they are held for minutes
 */
async function withBriefLocks(pool: Pool, work: (client: PoolClient) => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await inTransaction(pool, work);
    } catch (error) {
      if (!(error instanceof DatabaseError) || !BUSY.has(error.code)) throw error;
      if (attempt === ATTEMPTS)
        throw new ToolgateError("UNAVAILABLE", "other sessions keep the tables locked; try again later", {
          cause: error,
        });
    }
    await sleep(PAUSE_MS);
  }
}

async function inTransaction(pool: Pool, work: (client: PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect();
  let broken = true;
  try {
    await client.query(`begin; set local lock_timeout = '${LOCK_WAIT}'`);
    await work(client);
    await client.query("commit");
    broken = false;
  } finally {
    if (broken) await client.query("rollback").catch(() => {});
    client.release(broken);
  }
}

/** A constraint that no row meets. It is not validated, so the rows of before stay. */
const FROZEN = "archive_frozen";

/** Refuses new and changed rows of a month. */
export async function freezeMonth(pool: Pool, month: Month): Promise<void> {
  await withBriefLocks(pool, async (client) => {
    for (const table of ARCHIVED_TABLES) {
      const part = partitionOf(table, month);
      await client.query(
        `alter table ${part} drop constraint if exists ${FROZEN},
           add constraint ${FROZEN} check (false) not valid`,
      );
    }
  });
}

export async function thawMonth(pool: Pool, month: Month): Promise<void> {
  await withBriefLocks(pool, async (client) => {
    for (const table of ARCHIVED_TABLES)
      await client.query(`alter table ${partitionOf(table, month)} drop constraint if exists ${FROZEN}`);
  });
}

/** By account and key. The rows are frozen, so this needs no lock. */
const addUses = (run: string, receipt: string) => /* sql */ `
  insert into archive_use (month, account_id, key_id, runs, receipts, charged, first_receipt, last_receipt)
  select ($1 || '-01')::date, run.account_id, run.key_id, count(*), count(receipt.id),
    coalesce(sum(receipt.debited), 0), min(receipt.id::text)::uuid, max(receipt.id::text)::uuid
  from ${run} run left join ${receipt} receipt on receipt.run_id = run.id
  group by run.account_id, run.key_id`;

const ADD_MONTH = /* sql */ `
  insert into archive_month (month, low, high, runs, receipts, charged, first_receipt, last_receipt, manifest)
  select ($1 || '-01')::date, $2, $3, $4, $5, $6, min(first_receipt::text)::uuid,
    max(last_receipt::text)::uuid, decode($7, 'hex')
  from archive_use where month = ($1 || '-01')::date`;

/** Stores that a verified month is archived, and drops its partitions, in one transaction. */
export async function dropMonth(
  pool: Pool,
  { month, manifest, totals }: VerifiedMonth,
  ids: readonly [low: string, high: string],
): Promise<void> {
  const [run, receipt] = [partitionOf("run", month), partitionOf("receipt", month)];
  await withBriefLocks(pool, async (client) => {
    await requireFrozen(client, [run, receipt]);
    await longQuery(client, addUses(run, receipt), [month]);
    const { runs, receipts, charged } = totals;
    await client.query(ADD_MONTH, [month, ...ids, runs, receipts, charged, manifest]);
    // From here on calls wait.
    await client.query("lock table only run, only receipt in access exclusive mode");
    for (const table of ARCHIVED_TABLES) {
      const part = partitionOf(table, month);
      await client.query(`alter table ${table} detach partition ${part}`);
      await client.query(`drop table ${part}`);
    }
  });
}

/** Attaches the tables of a month, and stores that it is no longer archived, in one transaction. */
export async function attachMonth(
  pool: Pool,
  month: Month,
  [low, high]: readonly [string, string],
): Promise<void> {
  const range = "archive_range";
  for (const table of ARCHIVED_TABLES) {
    const [part, key] = [partitionOf(table, month), table === "run" ? "id" : "run_id"];
    // PostgreSQL trusts it, so that the lock does not last as long as a scan.
    await longQuery(
      pool,
      `alter table ${part} add constraint ${range} check (${key} >= '${low}' and ${key} < '${high}');
       analyze ${part}`,
    );
  }
  await withBriefLocks(pool, async (client) => {
    for (const table of ARCHIVED_TABLES) {
      const part = partitionOf(table, month);
      await client.query("select partition_attach($1, $2, $3, $4)", [table, part, low, high]);
      await client.query(`alter table ${part} drop constraint ${range}`);
    }
    await client.query("delete from archive_use where month = ($1 || '-01')::date", [month]);
    await client.query("delete from archive_month where month = ($1 || '-01')::date", [month]);
  });
}

/** @throws Error when a row could have changed since the files were written */
async function requireFrozen(client: PoolClient, parts: readonly string[]): Promise<void> {
  const { rowCount } = await client.query(
    "select from pg_constraint where conname = $1 and conrelid = any ($2::text[]::regclass[])",
    [FROZEN, parts],
  );
  if (rowCount !== parts.length) throw new Error(`${parts.join(" and ")} are not frozen`);
}
