import { Migrator } from "@mikro-orm/migrations";
import { MikroORM } from "@mikro-orm/postgresql";
import { ENTITIES } from "./entities/index.ts";
import { MIGRATIONS } from "./migrations/index.ts";

/**
 * MikroORM on that database, for the schema and for queries outside the money path.
 * @param max connections at most
 * @param lockTimeoutMs longest time that a statement waits for a lock, ms; without it, for ever
 */
export function openOrm(url: string, max: number, lockTimeoutMs = 0): Promise<MikroORM> {
  return MikroORM.init({
    clientUrl: url,
    driverOptions: { lock_timeout: lockTimeoutMs },
    entities: ENTITIES,
    extensions: [Migrator],
    // Listed, not discovered: nothing depends on where the files lie.
    migrations: { migrationsList: MIGRATIONS, tableName: "migration", snapshot: false, allOrNothing: false },
    // Triggers and functions are the migrations' own.
    schemaGenerator: { ignoreTriggers: true, ignoreRoutines: true },
    logger: () => {},
    pool: { min: 0, max },
    allowGlobalContext: false,
  });
}
