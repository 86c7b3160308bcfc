import { readFileSync } from "node:fs";
import path from "node:path";
import { parseEnv } from "node:util";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import { parseAddress } from "../domain/core/base58.ts";
import { resolveUpstreams } from "../inference/upstream-settings.ts";
import type { UpstreamSettings } from "../inference/upstream-settings.ts";
import { resolveCustomTools, type CustomToolSettings } from "../tools/custom/settings.ts";
import { BUILT_IN_NAMES } from "../tools/index.ts";
import { configFileSchema, type ConfigFile } from "./config-file.ts";
import { withSecretFiles } from "./secret-files.ts";
import { SECRET_SETTINGS, settingsSchema, type Settings } from "./settings.ts";

/** All settings: environment variables and the TOOLGATE_CONFIG file. */
export interface Config extends Settings {
  readonly prices: ConfigFile["prices"];
  /** Servers for inference_chat; empty: the tool is unavailable. */
  readonly upstreams: readonly UpstreamSettings[];
  readonly sandbox: ConfigFile["sandbox"];
  /** The operator's custom tools. */
  readonly tools: readonly CustomToolSettings[];
}

const REQUIRED = ["DATABASE_URL", "SOLANA_RPC_URLS", "TREASURY_OWNER"] as const;

/** A configuration with everything `serve` requires. */
export type ServeConfig = Config & { [Name in (typeof REQUIRED)[number]]: NonNullable<Config[Name]> };

/** Lists every problem of the configuration with its remedy. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `The configuration has ${problems.length === 1 ? "a problem" : `${problems.length} problems`}:\n` +
        problems.map((problem) => `  - ${problem}`).join("\n"),
    );
    this.name = "ConfigError";
    this.problems = problems;
  }
}

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
  const file = readConfigFile(set["TOOLGATE_CONFIG"], problems);
  const present = withSecretFiles(set, file, problems);
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
  const inference = resolveUpstreams(file.inference, present);
  const folder = path.dirname(path.resolve(present["TOOLGATE_CONFIG"] ?? "."));
  const registered = resolveCustomTools(file.tools, { env: present, folder, reservedNames: BUILT_IN_NAMES });
  problems.push(...inference.problems, ...registered.problems);
  if (!parsed.success || problems.length > 0) throw new ConfigError(problems);
  const { prices, sandbox } = file;
  return { ...parsed.data, prices, upstreams: inference.upstreams, sandbox, tools: registered.tools };
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
  const { prices: _, upstreams: __, sandbox: ___, tools: ____, ...settings } = config;
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [
      name,
      SECRET_SETTINGS.has(name) && value !== undefined ? "***" : value,
    ]),
  );
}

function readConfigFile(file: string | undefined, problems: string[]): ConfigFile {
  const fallback = configFileSchema.parse({});
  if (file === undefined) return fallback;
  let content: unknown;
  try {
    content = parseYaml(readFileSync(file, "utf8"));
  } catch (error) {
    problems.push(
      // The first line names the problem and its position; the rest quotes the file, which may contain
      // secrets.
      `TOOLGATE_CONFIG: ${file} cannot be read as JSON or YAML: ` +
        (error instanceof Error ? error.message.split("\n")[0] : String(error)),
    );
    return fallback;
  }
  const parsed = configFileSchema.safeParse(content ?? {});
  if (parsed.success) return parsed.data;
  problems.push(
    ...parsed.error.issues.map(
      (issue) => `${file}: ${z.core.toDotPath(issue.path) || "the file"}: ${issue.message}`,
    ),
  );
  return fallback;
}

function isMissingFile(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
