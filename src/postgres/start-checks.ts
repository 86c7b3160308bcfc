import type { Pool } from "pg";
import { MIGRATION_NAMES } from "./migrations/names.ts";
import { checkDurability, openPool } from "./pool.ts";

/**
 * Whether a gateway can work on this database: reachable, durable, at the current schema.
 * @returns what is wrong, and what to do about it; empty when all is well
 */
export async function checkDatabase(url: string): Promise<string[]> {
  const pool = openPool(url, { max: 1, applicationName: "toolgate start checks" });
  try {
    return [...(await checkDurability(pool)), ...(await checkSchema(pool))];
  } catch (error) {
    return [`the database cannot be reached (${reasonOf(error)}); check the address, the password and the network`];
  } finally {
    await pool.end();
  }
}

async function checkSchema(pool: Pool): Promise<string[]> {
  const { rows: tables } = await pool.query("select from pg_class where oid = to_regclass('migration')");
  const { rows } =
    tables.length === 0 ? { rows: [] } : await pool.query<{ name: string }>("select name from migration");
  const applied = new Set(rows.map(({ name }) => name));
  const missing = MIGRATION_NAMES.filter((name) => !applied.has(name)).length;
  return missing === 0 ? [] : [`the schema is ${missing} migrations behind; run: node src/main.ts migrate`];
}

/** The driver's code and message; never the address, which holds the password. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown reason";
  const code = "code" in error && typeof error.code === "string" ? `${error.code} ` : "";
  return `${code}${error.message.split("\n")[0] ?? ""}`.trim();
}
