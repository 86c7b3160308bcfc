import { existsSync } from "node:fs";
import { databaseUrl, query } from "./database-server.ts";

/** The database that every test database is a copy of. */
export const templateName = "toolgate_template";

/** Makes the template, migrated once, so that a test pays for a copy only. */
export async function createTemplate(serverUrl: string): Promise<void> {
  await query(serverUrl, `CREATE DATABASE ${templateName}`);
  await migrateTemplate(databaseUrl(serverUrl, templateName));
  // PostgreSQL copies a database only while nobody is connected to it.
  await query(serverUrl, `ALTER DATABASE ${templateName} WITH ALLOW_CONNECTIONS false IS_TEMPLATE true`);
}

/** Brings the template to the current schema. */
async function migrateTemplate(url: string): Promise<void> {
  const file = new URL("../../src/postgres/migrate.ts", import.meta.url);
  if (!existsSync(file)) return;
  const module: unknown = await import(file.href);
  if (typeof module !== "object" || module === null || !("migrate" in module) || typeof module.migrate !== "function") {
    throw new Error(`${file.pathname} does not export migrate()`);
  }
  await module.migrate(url);
}
