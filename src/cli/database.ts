import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { ConfigError, readConfig, readEnvironment, type Config } from "../config/config.ts";
import { ToolgateError } from "../domain/errors.ts";
import { createLogger } from "../log.ts";
import type { Postgres } from "../postgres/index.ts";
import { systemClock, systemRandom } from "../system.ts";
import { CommandError } from "./command-error.ts";

const devJson = z.object({ database_url: z.string() });

/** The configuration of a command, with the database of a running `dev` where DATABASE_URL is not set. */
export function commandConfig(): Config & { DATABASE_URL: string } {
  const config = readConfig(readEnvironment());
  const url = config.DATABASE_URL ?? devDatabaseUrl(config.DATA_DIR);
  if (url === undefined) {
    throw new ConfigError([
      "DATABASE_URL: is not set, and no dev is running here; set it, or run npm start in another terminal",
    ]);
  }
  return { ...config, DATABASE_URL: url };
}

/**
 * Gives the command the database, and closes it after.
 * @throws CommandError when the database cannot be used; whatever `run` throws
 */
export async function withPostgres<Result>(
  run: (postgres: Postgres, config: Config) => Promise<Result>,
): Promise<Result> {
  const config = commandConfig();
  try {
    const { openPostgres } = await import("../postgres/index.ts");
    const postgres = await openPostgres({
      url: config.DATABASE_URL,
      instanceId: randomUUID(),
      clock: systemClock,
      random: systemRandom,
      leaseMs: config.RUN_LEASE_MS,
      poolSize: 4,
      log: createLogger("warn"),
    });
    try {
      return await run(postgres, config);
    } finally {
      await postgres.close();
    }
  } catch (error) {
    throw explained(error, config.DATABASE_URL);
  }
}

function devDatabaseUrl(dataDir: string): string | undefined {
  try {
    return devJson.parse(JSON.parse(readFileSync(path.join(dataDir, "dev.json"), "utf8"))).database_url;
  } catch {
    return undefined;
  }
}

/** SQLSTATE of a table that is not there. */
const UNDEFINED_TABLE = "42P01";

/**
 * A {@link CommandError} where the user can do something about the database. It names host and port only: the address holds the password.
 */
export function explained(error: unknown, databaseUrl: string): unknown {
  const code = codeOf(error);
  const { host } = new URL(databaseUrl);
  if (code === UNDEFINED_TABLE)
    return new CommandError(`The database at ${host} has no schema of Toolgate: run migrate first.`, { cause: error });
  if (code === undefined || !isConnection(code)) return error;
  return new CommandError(
    `The database at ${host} cannot be reached (${code}): run npm start if it is that of dev, or else check DATABASE_URL.`,
    { cause: error },
  );
}

/** System errors, and SQLSTATEs: connection exceptions, invalid authorization, no such database, shutdown and start. */
function isConnection(code: string): boolean {
  return /^(E[A-Z]+|EAI_AGAIN|08...|28...|3D000|57P0.)$/.test(code);
}

/** The code of an error, or of what it was caused by. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if ("code" in error && typeof error.code === "string" && !(error instanceof ToolgateError)) return error.code;
  return codeOf(error instanceof AggregateError ? error.errors[0] : error.cause);
}
