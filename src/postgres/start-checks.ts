import { openOrm } from "./orm.ts";
import { checkDurability, openPool } from "./pool.ts";

/**
 * Whether a gateway can work on this database: reachable, durable, at the current schema.
 * @returns what is wrong, and what to do about it; empty when all is well
 */
export async function checkDatabase(url: string): Promise<string[]> {
  const pool = openPool(url, { max: 1, applicationName: "toolgate start checks" });
  try {
    return [...(await checkDurability(pool)), ...(await checkSchema(url))];
  } catch (error) {
    return [`the database cannot be reached (${reasonOf(error)}); check the address, the password and the network`];
  } finally {
    await pool.end();
  }
}

async function checkSchema(url: string): Promise<string[]> {
  const orm = await openOrm(url, 1);
  try {
    const pending = await orm.migrator.getPending();
    return pending.length === 0
      ? []
      : [`the schema is ${pending.length} migrations behind; run: node src/main.ts migrate`];
  } finally {
    await orm.close();
  }
}

/** The driver's code and message; never the address, which holds the password. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown reason";
  const code = "code" in error && typeof error.code === "string" ? `${error.code} ` : "";
  return `${code}${error.message.split("\n")[0] ?? ""}`.trim();
}
