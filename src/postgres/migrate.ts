import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { isBlocked } from "./database-errors.ts";
import { openOrm } from "./orm.ts";

/** The advisory lock that migrating instances queue at: "toolgate" as 64 bits. */
export const MIGRATION_LOCK = 0x746f6f6c67617465n;

/**
 * Longest time that a migration waits for a table, ms: all who come after it wait behind it, so it gives up before they do. While
 * somebody reads that table for long (a backup, a forgotten transaction), it would else hold up every call until they are done.
 */
const LOCK_TIMEOUT_MS = 500;

/** How often a migration is tried that finds its table in use, and the pause in which the others go on, ms: nearly a minute in all. */
const [TRIES, PAUSE_MS] = [40, 1_000];

/**
 * Brings the database to the current schema. Safe from several instances at once: the first one works, the others wait and find
 * nothing left to do. Safe beside instances that serve, too: each migration is a transaction of its own, and waits for nobody for long.
 * @returns the names of the migrations that this call applied
 * @throws the database's error 55P03 when a table stays in use; it can be repeated
 */
export async function migrate(databaseUrl: string): Promise<{ applied: string[] }> {
  const lock = new Client({ connectionString: databaseUrl });
  await lock.connect();
  try {
    await lock.query("select pg_advisory_lock($1)", [MIGRATION_LOCK]);
    const orm = await openOrm(databaseUrl, 2, LOCK_TIMEOUT_MS);
    try {
      const applied: string[] = [];
      for (const { name } of await orm.migrator.getPending()) {
        await onceFree(() => orm.migrator.up({ to: name }));
        applied.push(name);
      }
      return { applied };
    } finally {
      await orm.close();
    }
  } finally {
    // The lock ends with its connection.
    await lock.end();
  }
}

/** Does something as soon as nobody is in its way. */
async function onceFree(work: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await work();
      return;
    } catch (error) {
      if (!isBlocked(error) || tries === TRIES) throw error;
      await sleep(PAUSE_MS);
    }
  }
}
