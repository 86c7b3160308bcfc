import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { ConfigError, readConfig, readEnvironment, type Config } from "../config/config.ts";
import { createLogger } from "../log.ts";
import type { Postgres } from "../postgres/index.ts";
import { systemClock, systemRandom } from "../system.ts";

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

/** Gives the command the database, and closes it after. */
export async function withPostgres<Result>(
  run: (postgres: Postgres, config: Config) => Promise<Result>,
): Promise<Result> {
  const config = commandConfig();
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
}

function devDatabaseUrl(dataDir: string): string | undefined {
  try {
    return devJson.parse(JSON.parse(readFileSync(path.join(dataDir, "dev.json"), "utf8"))).database_url;
  } catch {
    return undefined;
  }
}
