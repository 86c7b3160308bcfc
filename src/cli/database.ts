import process from "node:process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { ToolgateError } from "../domain/core/errors.ts";
import { serversOf } from "../domain/core/database-url.ts";
import { openArchive } from "../archive/open-archive.ts";
import { ConfigError, readConfig, readEnvironment, type Config, collectSecrets } from "../config/config.ts";
import { cellOf } from "../domain/core/ids.ts";
import { Quotes } from "../domain/payments/quote.ts";
import { createLogger } from "../log.ts";
import type { Postgres } from "../postgres/index.ts";
import { systemClock, systemRandom } from "../system.ts";
import type { OpenCell } from "../postgres/cells/open-cells.ts";
import { CommandError } from "./command.ts";
import { withOperatorLog } from "./operator-log.ts";

/** The quotes that this installation seals. */
export function quotesOf({ sealingKeys }: Postgres, { QUOTE_TTL_SECONDS: ttl, CELL }: CommandConfig): Quotes {
  return new Quotes(sealingKeys, systemClock, systemRandom, ttl, cellOf(CELL));
}

/** SQLSTATE undefined_table. */
const UNDEFINED_TABLE = "42P01";

/** SQLSTATE lock_not_available. */
const LOCK_NOT_AVAILABLE = "55P03";

/** SQLSTATE insufficient_privilege. */
const INSUFFICIENT_PRIVILEGE = "42501";

/**
 * Returns a {@link CommandError} for errors the user can fix. Names host and port only: the URL holds the
 * password.
 */
export function explainDatabaseError(error: unknown, databaseUrl: string): unknown {
  if (error instanceof CommandError) return error;
  const code = codeOf(error);
  const host = serversOf(databaseUrl);
  if (code === UNDEFINED_TABLE)
    return new CommandError(`The database at ${host} has no Toolgate schema: run migrate first.`, {
      cause: error,
    });
  if (code === LOCK_NOT_AVAILABLE)
    return new CommandError(
      `The database at ${host} is locked by a transaction (see pg_stat_activity): repeat this after it ends.`,
      { cause: error },
    );
  if (code === INSUFFICIENT_PRIVILEGE)
    return new CommandError(
      `The role in DATABASE_URL may not do this: run it with the URL of the schema's owner.`,
      { cause: error },
    );
  if (code === undefined || !isConnection(code)) return error;
  return new CommandError(
    `The database at ${host} cannot be reached (${code}): ` +
      "for dev run npm start; otherwise check DATABASE_URL.",
    { cause: error },
  );
}

/** System errors and SQLSTATEs for connection, authorization, missing database, shutdown and startup. */
function isConnection(code: string): boolean {
  return /^(E[A-Z]+|EAI_AGAIN|08...|28...|3D000|57P0.)$/.test(code);
}

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if ("code" in error && typeof error.code === "string" && !(error instanceof ToolgateError))
    return error.code;
  return codeOf(error instanceof AggregateError ? error.errors[0] : error.cause);
}

const devJson = z.object({
  base_url: z.string().optional(),
  database_url: z.string(),
  rpc_url: z.string(),
  treasury_owner: z.string(),
  fee_payer_keypair: z.string().optional(),
});

/** Reads the configuration. Without DATABASE_URL it uses the database and chain of a running `dev`. */
export function commandConfig(): CommandConfig {
  const config = readConfig(readEnvironment());
  for (const warning of config.misspelt) process.stderr.write(`warning: ${warning}\n`);
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

/** Returns the address of a running `dev`. @throws CommandError */
export function devBaseUrl(): string {
  const url = runningDev(readConfig(readEnvironment()).DATA_DIR)?.base_url;
  if (url !== undefined) return url;
  throw new CommandError("No dev is running: name the address of the gateway.");
}

function runningDev(dataDir: string): z.output<typeof devJson> | undefined {
  try {
    return devJson.parse(JSON.parse(readFileSync(path.join(dataDir, "dev.json"), "utf8")));
  } catch {
    return undefined;
  }
}

/** Opens all cells for one command. @throws ConfigError without CELL_DATABASE_URLS */
export async function onCells<Result>(run: (cells: readonly OpenCell[]) => Promise<Result>): Promise<Result> {
  const config = readConfig(readEnvironment());
  const { CELL_DATABASE_URLS: urls } = config;
  if (urls === undefined || urls.size < 2)
    throw new ConfigError([
      "CELL_DATABASE_URLS: must name at least two cells, 1=postgresql://… 2=postgresql://…",
    ]);
  const { withCells } = await import("../postgres/cells/open-cells.ts");
  const log = createLogger("warn", { secrets: collectSecrets(config) });
  try {
    return await withCells({ urls, clock: systemClock, random: systemRandom, log }, run);
  } catch (error) {
    throw explainDatabaseError(error, [...urls.values()].join(","));
  }
}
