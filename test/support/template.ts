import { migrate } from "../../src/postgres/migrate.ts";
import { databaseUrl, query } from "./database-server.ts";

/** The database that every test database is a copy of. */
export const templateName = "toolgate_template";

/** Makes the template, migrated once, so that a test pays for a copy only. */
export async function createTemplate(serverUrl: string): Promise<void> {
  await query(serverUrl, `CREATE DATABASE ${templateName}`);
  await migrate(databaseUrl(serverUrl, templateName));
  // PostgreSQL copies a database only while nobody is connected to it.
  await query(serverUrl, `ALTER DATABASE ${templateName} WITH ALLOW_CONNECTIONS false IS_TEMPLATE true`);
}
