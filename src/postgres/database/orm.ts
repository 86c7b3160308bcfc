import { MikroORM, type Options } from "@mikro-orm/postgresql";
import { ENTITIES } from "./entities/index.ts";
import { serverOf } from "./server.ts";

/**
 * MikroORM on that database, for migrations and for queries outside the money path.
 * @param max connections
 */
export function openOrm(url: string, max: number, options: Options = {}): Promise<MikroORM> {
  const { connectionString, Client } = serverOf(url);
  return MikroORM.init({
    clientUrl: connectionString,
    entities: ENTITIES,
    // Triggers and functions have SQL files of their own.
    schemaGenerator: { ignoreTriggers: true, ignoreRoutines: true },
    logger: () => {},
    pool: { min: 0, max },
    allowGlobalContext: false,
    ...options,
    driverOptions: { ...options.driverOptions, Client },
  });
}
