import type { Pool } from "pg";
import { CLOCK_UNREADY_MS, CLOCK_WARN_MS } from "../../app/operations/readiness.ts";
import type { Clock } from "../../domain/core/clock.ts";
import { DatabaseClock } from "./database-clock.ts";
import { restoreMark } from "./primary.ts";
import { schemaState, readSqlSchema } from "./sql-files.ts";
import { checkDurability, openPool } from "./pool.ts";

/** Check results: problems prevent a start, warnings do not. Each includes advice. */
export interface Findings {
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Checks that a gateway can use this database (reachable, durable, current schema) and has no more rights
 * than it needs.
 */
export async function checkDatabase(url: string, clock: Clock): Promise<Findings> {
  const pool = openPool(url, { max: 1, applicationName: "toolgate start checks" });
  try {
    const schema = await checkSchema(pool);
    const problems = [...(await checkDurability(pool)), ...schema];
    if (schema.length === 0) problems.push(...(await checkRestored(pool)));
    const clocks = await checkClock(pool, clock);
    problems.push(...clocks.problems);
    return {
      problems,
      warnings: [...clocks.warnings, ...(await checkRights(pool)), ...(await checkStandbys(pool))],
    };
  } catch (error) {
    const problem =
      `the database cannot be reached (${reasonOf(error)}); check the address, the password and the ` +
      "network";
    return { problems: [problem], warnings: [] };
  } finally {
    await pool.end();
  }
}

/**
 * Checks that another URL leads to the same database or to a standby of it.
 * @returns the problem with advice
 */
export async function checkSameDatabase(url: string, other: string): Promise<string | undefined> {
  try {
    const [expected, found] = await Promise.all([identityOf(url), identityOf(other)]);
    return expected === found ? undefined : "leads to another database than DATABASE_URL; name the same one";
  } catch (error) {
    return `cannot be reached (${reasonOf(error)}); check the address, the password and the network`;
  }
}

async function identityOf(url: string): Promise<string | undefined> {
  const pool = openPool(url, { max: 1, applicationName: "toolgate start checks" });
  try {
    const { rows } = await pool.query<{ identity: string }>(
      "select system_identifier || ' ' || current_database() as identity from pg_control_system()",
    );
    return rows[0]?.identity;
  } finally {
    await pool.end();
  }
}

async function checkClock(pool: Pool, clock: Clock): Promise<Findings> {
  const measured = new DatabaseClock(clock);
  // The first query also connects.
  for (const _ of [1, 2]) await measured.measure(pool);
  const { aheadMs } = measured;
  const found = [
    `its clock is ${Math.abs(aheadMs) / 1_000} s ${aheadMs > 0 ? "behind" : "ahead of"} this machine's; ` +
      "synchronise both by NTP",
  ];
  if (Math.abs(aheadMs) < CLOCK_WARN_MS) return { problems: [], warnings: [] };
  const isProblem = Math.abs(aheadMs) >= CLOCK_UNREADY_MS;
  return { problems: isProblem ? found : [], warnings: isProblem ? [] : found };
}

async function checkRights(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ role: string; superuser: boolean; owner: boolean }>(
    `select role.rolname as role, role.rolsuper as superuser, exists (
       select from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
         and pg_has_role(role.oid, relowner, 'member')
     ) as owner
     from pg_roles role where role.rolname = current_user`,
  );
  const [found] = rows;
  if (!found?.superuser && !found?.owner) return [];
  const what = found.superuser ? "is a superuser" : "owns the tables";
  return [
    `its role ${found.role} ${what}, so an attacker who takes over this process can change every ` +
      "balance; serve with a role of its own (migrate --grant-to)",
  ];
}

async function checkStandbys(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ names: string }>(
    "select current_setting('synchronous_standby_names') as names",
  );
  if (rows[0]?.names !== "") return [];
  return [
    "it has no synchronous standby, so answered calls are lost with the disk of this server; set " +
      "synchronous_standby_names (docs/guides/run-at-scale.md, failover)",
  ];
}

async function checkRestored(pool: Pool): Promise<string[]> {
  const found = await restoreMark(pool);
  if (!found || found.reconciledAt !== null) return [];
  return [
    `it was restored from a backup (${found.mark}), so revoked keys work again and payments are missing; ` +
      "run: node src/main.ts after-restore (docs/guides/run-at-scale.md, backup)",
  ];
}

async function checkSchema(pool: Pool): Promise<string[]> {
  const schema = readSqlSchema();
  const { conflict, ahead, pending, removed } = await schemaState(pool, schema);
  if (conflict !== undefined) return [conflict];
  // An update migrates first; instances of the version before keep running and may restart meanwhile.
  if (ahead) return [];
  const outdated = pending.length + removed.length;
  if (outdated === 0) return [];
  const isEmpty = pending.length === schema.frozen.length + schema.repeatable.length;
  const state = isEmpty
    ? "the database has no schema yet"
    : `the schema is outdated (changed files: ${outdated})`;
  return [`${state}; run: node src/main.ts migrate`];
}

/** The driver's code and message; never the address, which contains the password. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown reason";
  const code = "code" in error && typeof error.code === "string" ? `${error.code} ` : "";
  return `${code}${error.message.split("\n")[0] ?? ""}`.trim();
}
