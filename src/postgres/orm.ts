import { Migrator } from "@mikro-orm/migrations";
import { MikroORM } from "@mikro-orm/postgresql";
import { ENTITIES } from "./entities/index.ts";
import { MIGRATIONS } from "./migrations/index.ts";

/**
 * Opens MikroORM, for the schema and for queries outside the money path.
 * @param max maximum connections
 * @param lockTimeoutMs lock timeout of statements, ms; 0 for none
 */
export function openOrm(url: string, max: number, lockTimeoutMs = 0): Promise<MikroORM> {
  return MikroORM.init({
    clientUrl: url,
    driverOptions: { lock_timeout: lockTimeoutMs },
    entities: ENTITIES,
    extensions: [Migrator],
    // Listed, not discovered: independent of file locations.
    migrations: { migrationsList: MIGRATIONS, tableName: "migration", snapshot: false, allOrNothing: false },
    // Migrations own the triggers and functions.
    schemaGenerator: { ignoreTriggers: true, ignoreRoutines: true },
    logger: () => {},
    pool: { min: 0, max },
    allowGlobalContext: false,
  });
}
