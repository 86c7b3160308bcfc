import { setTimeout as sleep } from "node:timers/promises";
import { Migration, Migrator } from "@mikro-orm/migrations";
import { isBlocked } from "./database-errors.ts";
import { openOrm } from "./orm.ts";
import { makePartitions } from "./partitions.ts";
import { applyRepeatable } from "./repeatable.ts";
import { schemaState, readSqlSchema, SQL_FOLDER, type SqlFile } from "./sql-files.ts";
import { clientFor } from "./server.ts";

/** The advisory lock that concurrent migrations wait for: "toolgate" as 64 bits. */
export const MIGRATION_LOCK = 0x746f6f6c67617465n;

/**
 * Longest time that a migration waits for a table, ms. Every later statement on that table waits behind it,
 * so it gives up first: a backup or an open transaction would otherwise block every call.
 */
const LOCK_TIMEOUT_MS = 500;

/**
 * How often a migration retries when a table is in use, and the pause between, ms: nearly a minute in all.
 */
const [TRIES, PAUSE_MS] = [40, 1_000];

/**
 * The database cannot be migrated by this version of the program; the message names the reason and the
 * remedy.
 */
export class SchemaError extends Error {
  override name = "SchemaError";
}

/**
 * Brings the database to the current schema. Safe from several instances at once: the first one migrates,
 * the others wait and have nothing to do. Safe beside instances that serve: each frozen migration is one
 * transaction, as are all repeatable ones together, and waits only briefly for locks.
 * @param folder the SQL files of another schema than the program's own: for tests of upgrades
 * @returns the paths of the files that this call applied
 * @throws SchemaError; the database's error 55P03 when a table stays in use, after which it can be repeated
 */
export async function migrate(
  databaseUrl: string,
  folder: string = SQL_FOLDER,
): Promise<{ applied: string[] }> {
  const schema = readSqlSchema(folder);
  const client = clientFor(databaseUrl);
  await client.connect();
  try {
    await client.query("select pg_advisory_lock($1)", [MIGRATION_LOCK]);
    const state = await schemaState(client, schema);
    if (state.conflict !== undefined) throw new SchemaError(state.conflict);
    if (state.ahead)
      throw new SchemaError(
        "a later version of the program has migrated this database; migrate with that version",
      );
    const frozen = schema.frozen.filter((file) => state.pending.includes(file));
    if (frozen.length > 0) await applyFrozen(databaseUrl, schema.frozen);
    const repeatable =
      state.pending.length === 0 && state.removed.length === 0
        ? []
        : await retryWhileBlocked(() => applyRepeatable(client, schema, state, LOCK_TIMEOUT_MS));
    if (schema.repeatable.some(({ name }) => name === "partitions_make"))
      await retryWhileBlocked(() => makePartitions(client));
    return { applied: [...frozen.map(({ path }) => path), ...repeatable] };
  } finally {
    // Ends the session, and with it the lock.
    await client.end();
  }
}

async function applyFrozen(databaseUrl: string, files: readonly SqlFile[]): Promise<void> {
  const orm = await openOrm(databaseUrl, 2, {
    extensions: [Migrator],
    driverOptions: { lock_timeout: LOCK_TIMEOUT_MS },
    migrations: {
      migrationsList: files.map(migrationOf),
      tableName: "migration",
      snapshot: false,
      allOrNothing: false,
    },
  });
  try {
    for (const { name } of await orm.migrator.getPending())
      await retryWhileBlocked(() => orm.migrator.up({ to: name }));
  } finally {
    await orm.close();
  }
}

function migrationOf({
  name,
  path,
  text,
  checksum,
}: SqlFile): new (...args: ConstructorParameters<typeof Migration>) => Migration {
  return class extends Migration {
    override name = name;

    override async up(): Promise<void> {
      await this.execute(text);
      await this.execute("insert into schema_file (name, checksum) values (?, ?)", [path, checksum]);
    }
  };
}

async function retryWhileBlocked<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!isBlocked(error) || tries === TRIES) throw error;
      await sleep(PAUSE_MS);
    }
  }
}
