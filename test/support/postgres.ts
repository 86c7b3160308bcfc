import { randomBytes } from "node:crypto";
import { afterAll, inject } from "vitest";
import { databaseUrl, query } from "./database-server.ts";
import { SERVING, templateName } from "./template.ts";

/** A database for one test or one file of tests. */
export interface TestDatabase {
  /** Connected as the superuser, its owner. */
  readonly url: string;
  /** Connected as the gateways' role. */
  readonly servingUrl: string;
  /** Drops it and ends its connections. */
  drop(): Promise<void>;
}

/** Creates an empty database with the current schema, durable like production's. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const serverUrl = inject("postgresUrl");
  const name = `test_${randomBytes(8).toString("hex")}`;
  await query(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${templateName} STRATEGY FILE_COPY`);
  const url = databaseUrl(serverUrl, name);
  return {
    url,
    servingUrl: servingUrl(url),
    drop: async () => {
      await query(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

/** A database for the tests of one file, dropped after them. */
export async function openDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  afterAll(() => database.drop());
  return database;
}

/** Closes what the tests of one file share, after them and before what was opened earlier. */
export function closing<Part extends { close(): unknown } | { end(): unknown }>(part: Part): Part {
  afterAll(async () => {
    await ("close" in part ? part.close() : part.end());
  });
  return part;
}

/** The same database as the role that gateways serve with. */
export function servingUrl(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.username = SERVING.role;
  url.password = SERVING.password;
  return url.href;
}
