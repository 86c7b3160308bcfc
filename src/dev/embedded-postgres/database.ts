import pg from "pg";
import { errorCode } from "./error.ts";

/**
 * Connects to the database that `url` names, and creates it if it does not exist: an earlier start may have
 * been killed between initdb and this step.
 * @returns "not yet" while the server starts or recovers, an error if waiting cannot help
 */
export async function tryDatabase(url: string): Promise<"ready" | "not yet" | Error> {
  try {
    await withClient(url, (client) => client.query("SELECT 1"));
    return "ready";
  } catch (error) {
    switch (errorCode(error)) {
      case "3D000": // invalid_catalog_name
        return createDatabase(url);
      case "28P01": // invalid_password
        return new Error("PostgreSQL does not accept the password that is kept beside its data");
      default:
        return "not yet";
    }
  }
}

async function createDatabase(url: string): Promise<"ready" | Error> {
  const maintenance = new URL(url);
  const name = maintenance.pathname.slice(1);
  maintenance.pathname = "/postgres";
  try {
    await withClient(maintenance.href, (client) =>
      client.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`),
    );
    return "ready";
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

async function withClient<T>(connectionString: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString, ssl: false, connectionTimeoutMillis: 2_000 });
  client.on("error", () => undefined); // a server that dies under the connection also rejects the query
  try {
    await client.connect();
    return await use(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
