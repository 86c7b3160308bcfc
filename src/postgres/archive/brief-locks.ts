import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseError, type Pool, type PoolClient } from "pg";
import { ToolgateError } from "../../domain/core/errors.ts";

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
export async function withBriefLocks(pool: Pool, work: (client: PoolClient) => Promise<void>): Promise<void> {
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
