import process from "node:process";
import { grantServing } from "../../src/postgres/database/grants.ts";
import { migrate } from "../../src/postgres/database/migrate.ts";
import { databaseUrl, query } from "./database-server.ts";

/** The database that every test database is a copy of. */
export const templateName = "toolgate_template";

/** The role that gateways serve with, one for all databases of the server, and its password. */
export const SERVING = { role: "toolgate_serving", password: "serving-hush-4711" } as const;

/** Creates the template, migrated once, so that each test only copies it. */
export async function createTemplate(serverUrl: string): Promise<void> {
  await query(serverUrl, `CREATE DATABASE ${templateName}`);
  const url = databaseUrl(serverUrl, templateName);
  // Set when the tests of an older program run on a newer schema.
  await migrate(url, process.env["TEST_SCHEMA"]);
  await makeServingRole(url);
  // Copies count as restored from a backup otherwise.
  await query(url, "update schema_version set cluster = split_part(cluster, '/', 1)");
  // PostgreSQL copies a database only without connections to it.
  await query(serverUrl, `ALTER DATABASE ${templateName} WITH ALLOW_CONNECTIONS false IS_TEMPLATE true`);
}

/** Removes the template and the role. */
export async function dropTemplate(serverUrl: string): Promise<void> {
  await query(serverUrl, `ALTER DATABASE ${templateName} IS_TEMPLATE false`);
  await query(serverUrl, `DROP DATABASE ${templateName}`);
  await query(serverUrl, `DROP ROLE ${SERVING.role}`);
}

/** Creates the role if missing and grants it the rights on a database of the current schema. */
export async function makeServingRole(url: string): Promise<void> {
  await query(url, `CREATE ROLE ${SERVING.role} LOGIN PASSWORD '${SERVING.password}'`);
  await grantServing(url, SERVING.role);
}
