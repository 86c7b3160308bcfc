import { Client } from "pg";
import { openOrm } from "./orm.ts";

/** The advisory lock that migrating instances queue at: "toolgate" as 64 bits. */
export const MIGRATION_LOCK = 0x746f6f6c67617465n;

/**
 * Brings the database to the current schema. Safe from several instances at once: the first one works, the others wait and find
 * nothing left to do.
 * @returns the names of the migrations that this call applied
 */
export async function migrate(databaseUrl: string): Promise<{ applied: string[] }> {
  const lock = new Client({ connectionString: databaseUrl });
  await lock.connect();
  try {
    await lock.query("select pg_advisory_lock($1)", [MIGRATION_LOCK]);
    const orm = await openOrm(databaseUrl, 2);
    try {
      const migrations = await orm.migrator.up();
      return { applied: migrations.map(({ name }) => name) };
    } finally {
      await orm.close();
    }
  } finally {
    // The lock ends with its connection.
    await lock.end();
  }
}
