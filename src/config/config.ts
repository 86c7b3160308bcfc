import { readFileSync } from "node:fs";
import path from "node:path";
import { parseEnv } from "node:util";
import { parseAddress } from "../domain/core/base58.ts";
import { ConfigError } from "./config-error.ts";
import { configFileSchema } from "./config-file.ts";
import { readDocument, resolveDocument, type ConfigDocument, type ResolvedDocument } from "./document.ts";
import { withSecretFiles, type Environment } from "./secret-files.ts";
import { SECRET_SETTINGS, settings, settingsSchema, type Settings } from "./settings.ts";

export { ConfigError } from "./config-error.ts";

/** All settings: environment variables and the TOOLGATE_CONFIG file. */
export interface Config extends Settings, Omit<ResolvedDocument, "problems"> {
  /** Content of the TOOLGATE_CONFIG file; undefined without one. */
  readonly document: ConfigDocument | undefined;
  /** All variables, for documents that refer to them. Contains secrets. */
  readonly environment: Environment;
}

const REQUIRED = ["DATABASE_URL", "SOLANA_RPC_URLS", "TREASURY_OWNER"] as const;

/** A configuration with everything `serve` requires. */
export type ServeConfig = Config & { [Name in (typeof REQUIRED)[number]]: NonNullable<Config[Name]> };

/** Merges the process environment over `.env` of the working directory. */
export function readEnvironment(processEnv: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  try {
    return { ...parseEnv(readFileSync(".env", "utf8")), ...processEnv };
  } catch (error) {
    if (isMissingFile(error)) return processEnv;
    throw new ConfigError([`.env: cannot be read (${String(error)})`]);
  }
}

/**
 * Reads and validates the configuration. Empty variables count as unset.
 * @throws ConfigError with every problem
 */
export function readConfig(environment: NodeJS.ProcessEnv): Config {
  const set = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ""),
  );
  const problems: string[] = [];
  const document = readConfigFile(set["TOOLGATE_CONFIG"], problems);
  const content = document?.content ?? configFileSchema.parse({});
  const present = withSecretFiles(set, configFileSchema.parse({}), problems);
  const parsed = settingsSchema.safeParse(present);
  for (const issue of parsed.error?.issues ?? []) {
    problems.push(`${issue.path.join(".")}: ${issue.message}`);
  }
  if (present["TREASURY_OWNER"] !== undefined && !parseAddress(present["TREASURY_OWNER"])) {
    problems.push("TREASURY_OWNER: must be a wallet address (base58 of 32 bytes)");
  }
  if (present["GASLESS_PER_KEY_HOURLY"] !== undefined) {
    problems.push(
      "GASLESS_PER_KEY_HOURLY: renamed to GASLESS_PER_ACCOUNT_HOURLY, which counts all keys of an account",
    );
  }
  if (present["X402_KEYLESS"] === "on" && present["FEE_PAYER_KEYPAIR"] === undefined)
    problems.push("X402_KEYLESS: is on and needs FEE_PAYER_KEYPAIR, which pays the network fees");
  for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
    if (present["ARCHIVE_URL"]?.startsWith("s3:") === true && present[name] === undefined)
      problems.push(`${name}: is not set; the bucket in ARCHIVE_URL needs it`);
  const folder = path.dirname(path.resolve(present["TOOLGATE_CONFIG"] ?? "."));
  const { problems: others, ...resolved } = resolveDocument(content, set, folder);
  problems.push(...others);
  if (!parsed.success || problems.length > 0) throw new ConfigError([...new Set(problems)]);
  return { ...parsed.data, ...resolved, document, environment: set };
}

/**
 * Reads the configuration for `serve`.
 * @throws ConfigError with every problem, invalid and missing settings together
 */
export function readServeConfig(environment: NodeJS.ProcessEnv): ServeConfig {
  try {
    return requireServeConfig(readConfig(environment));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const missing = REQUIRED.filter((name) => !environment[name] && !environment[`${name}_FILE`]).map(notSet);
    throw new ConfigError([...new Set([...error.problems, ...missing])]);
  }
}

/**
 * Checks that the settings `serve` requires are present.
 * @throws ConfigError with every missing setting
 */
export function requireServeConfig(config: Config): ServeConfig {
  if (isServeConfig(config)) return config;
  const missing = REQUIRED.filter((name) => config[name] === undefined || config[name].length === 0);
  throw new ConfigError(missing.map(notSet));
}

function notSet(name: string): string {
  return `${name}: is not set; serve needs it`;
}

function isServeConfig(config: Config): config is ServeConfig {
  return REQUIRED.every((name) => config[name] !== undefined && config[name].length > 0);
}

/** Returns the environment settings for `--print-config`, secrets as `***`. */
export function redactedConfig(config: Config): Record<string, unknown> {
  const names = Object.keys(settings);
  return Object.fromEntries(
    Object.entries(config)
      .filter(([name]) => names.includes(name))
      .map(([name, value]) => [name, SECRET_SETTINGS.has(name) && value !== undefined ? "***" : value]),
  );
}

function readConfigFile(file: string | undefined, problems: string[]): ConfigDocument | undefined {
  try {
    return file === undefined ? undefined : readDocument(file);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    problems.push(...error.problems);
    return undefined;
  }
}

function isMissingFile(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
