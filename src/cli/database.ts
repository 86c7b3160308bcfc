import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { openArchive } from "../archive/open-archive.ts";
import { ConfigError, readConfig, readEnvironment, type Config } from "../config/config.ts";
import { collectSecrets } from "../config/secrets.ts";
import { cellOf } from "../domain/core/cell.ts";
import { createLogger } from "../log.ts";
import type { Postgres } from "../postgres/index.ts";
import { systemClock, systemRandom } from "../system.ts";
import { explainDatabaseError } from "./database-error.ts";
import { withOperatorLog } from "./operator-log.ts";

const devJson = z.object({
  database_url: z.string(),
  rpc_url: z.string(),
  treasury_owner: z.string(),
  fee_payer_keypair: z.string().optional(),
});

/** Reads the configuration. Without DATABASE_URL it uses the database and chain of a running `dev`. */
export function commandConfig(): CommandConfig {
  const config = readConfig(readEnvironment());
  const { DATABASE_URL } = config;
  if (DATABASE_URL !== undefined) return { ...config, DATABASE_URL };
  const dev = runningDev(config.DATA_DIR);
  if (dev === undefined) {
    throw new ConfigError([
      "DATABASE_URL: is not set and no dev is running; set it, or run npm start in another terminal",
    ]);
  }
  return {
    ...config,
    DATABASE_URL: dev.database_url,
    SOLANA_RPC_URLS: config.SOLANA_RPC_URLS ?? [dev.rpc_url],
    TREASURY_OWNER: config.TREASURY_OWNER ?? dev.treasury_owner,
    FEE_PAYER_KEYPAIR:
      config.FEE_PAYER_KEYPAIR ?? (config.FEE_PAYER_SIGNER === undefined ? dev.fee_payer_keypair : undefined),
  };
}

export type CommandConfig = Config & { DATABASE_URL: string };

/**
 * Opens the database for one command and closes it afterwards. Changes are written to the operator log.
 * @throws CommandError when the database cannot be used, and whatever `run` throws
 */
export async function withPostgres<Result>(
  run: (postgres: Postgres, config: CommandConfig) => Promise<Result>,
): Promise<Result> {
  const config = commandConfig();
  try {
    const { openPostgres } = await import("../postgres/index.ts");
    const log = createLogger("warn", { secrets: collectSecrets(config) });
    const postgres = await openPostgres({
      url: config.DATABASE_URL,
      instanceId: randomUUID(),
      clock: systemClock,
      random: systemRandom,
      leaseMs: config.RUN_LEASE_MS,
      poolSize: 4,
      operatorLog: config.OPERATOR_LOG,
      archive: await openArchive(config),
      cell: cellOf(config.CELL),
      log,
    });
    try {
      return await run(withOperatorLog(postgres, log), config);
    } finally {
      await postgres.close();
    }
  } catch (error) {
    throw explainDatabaseError(error, config.DATABASE_URL);
  }
}

function runningDev(dataDir: string): z.output<typeof devJson> | undefined {
  try {
    return devJson.parse(JSON.parse(readFileSync(path.join(dataDir, "dev.json"), "utf8")));
  } catch {
    return undefined;
  }
}
