import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { databaseUrl, query } from "./database-server.ts";
import { templateName } from "./template.ts";

/** A database that belongs to one test or one file of tests. */
export interface TestDatabase {
  readonly url: string;
  /** Deletes it, throwing out whoever is still connected. */
  drop(): Promise<void>;
}

/** Creates an empty database with the current schema, durable like production's. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const serverUrl = inject("postgresUrl");
  const name = `test_${randomBytes(8).toString("hex")}`;
  await query(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${templateName}`);
  return {
    url: databaseUrl(serverUrl, name),
    drop: async () => {
      await query(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}
