import { readFileSync } from "node:fs";
import path from "node:path";
import { parseEnv } from "node:util";
import { parseAddress } from "../domain/core/base58.ts";
import { serverUrls } from "../domain/core/database-url.ts";
import { secretsOfHeader } from "../tools/custom/headers.ts";
import { ConfigError, configFileSchema, withSecretFiles, type Environment } from "./config-file.ts";
import { misspeltSettings } from "./misspelt-settings.ts";
import { readDocument, resolveDocument, type ConfigDocument, type ResolvedDocument } from "./document.ts";
import { SECRET_SETTINGS, settings, settingsSchema, type Settings } from "./settings.ts";

export { ConfigError } from "./config-file.ts";

/** All settings: environment variables and the TOOLGATE_CONFIG file. */
export interface Config extends Settings, Omit<ResolvedDocument, "problems"> {
  /** Content of the TOOLGATE_CONFIG file; undefined without one. */
  readonly document: ConfigDocument | undefined;
  /** Variables that are no settings but nearly have the name of one. */
  readonly misspelt: readonly string[];
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
  problems.push(...tlsProblems(present));
  problems.push(...feePayerProblems(present));
  for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
    if (present["ARCHIVE_URL"]?.startsWith("s3:") === true && present[name] === undefined)
      problems.push(`${name}: is not set; the bucket in ARCHIVE_URL needs it`);
  const folder = path.dirname(path.resolve(present["TOOLGATE_CONFIG"] ?? "."));
  const { problems: others, ...resolved } = resolveDocument(content, set, folder);
  problems.push(...others);
  if (!parsed.success || problems.length > 0) throw new ConfigError([...new Set(problems)]);
  return { ...parsed.data, ...resolved, document, misspelt: misspeltSettings(set), environment: set };
}

function feePayerProblems(present: NodeJS.ProcessEnv): string[] {
  const { FEE_PAYER_KEYPAIR: file, FEE_PAYER_SIGNER: signer, X402_KEYLESS, FACILITATOR } = present;
  if (X402_KEYLESS === "on" && file === undefined)
    return ["X402_KEYLESS: is on and needs FEE_PAYER_KEYPAIR, which pays the network fees"];
  return FACILITATOR === "on" && file === undefined && signer === undefined
    ? ["FACILITATOR: is on and needs FEE_PAYER_KEYPAIR or FEE_PAYER_SIGNER, which pay the network fees"]
    : [];
}

function tlsProblems({ TLS_CERT, TLS_KEY, TLS_CLIENT_CA }: NodeJS.ProcessEnv): string[] {
  if ((TLS_CERT === undefined) !== (TLS_KEY === undefined))
    return ["TLS_CERT, TLS_KEY: set both, or neither"];
  const lacks = TLS_CLIENT_CA !== undefined && TLS_CERT === undefined;
  return lacks ? ["TLS_CLIENT_CA: needs TLS_CERT and TLS_KEY"] : [];
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
    // A misspelt setting may be why another is missing.
    throw new ConfigError([...new Set([...error.problems, ...missing, ...misspeltSettings(environment)])]);
  }
}

/** Checks that the settings `serve` requires are present. @throws ConfigError with every missing setting */
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
      .map(([name, value]) => [name, shownValue(config, name, value)]),
  );
}

function shownValue({ environment }: Config, name: string, value: unknown): unknown {
  if (SECRET_SETTINGS.has(name) && value !== undefined) return "***";
  // As it was set: what is made of it is not JSON.
  return name === "OAUTH_ISSUERS" ? environment[name] : value;
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

/** Shorter values are not secrets; redacting them would remove ordinary words from the log. */
const MIN_SECRET_LENGTH = 6;

/** Path segments of an RPC URL at least this long may be API keys. */
const MIN_PATH_KEY_LENGTH = 16;

/** `password` and `sslpassword`: libpq parameters that the driver accepts too. */
const PASSWORD_PARAMETER = /password/i;

type SecretSettings = Pick<Config, "DATABASE_URL" | "SOLANA_RPC_URLS" | "upstreams"> &
  Partial<
    Pick<
      Config,
      | "tools"
      | "DATABASE_DIRECT_URL"
      | "DATABASE_READ_URL"
      | "CELL_DATABASE_URLS"
      | "FEE_PAYER_SIGNER_TOKEN"
      | "OTEL_EXPORTER_OTLP_HEADERS"
      | "AWS_SECRET_ACCESS_KEY"
      | "AWS_SESSION_TOKEN"
      | "OAUTH_CLIENTS"
    >
  >;

/**
 * Returns every secret value of the configuration for log redaction: passwords and keys without the URLs
 * around them.
 */
export function collectSecrets({
  DATABASE_URL,
  DATABASE_DIRECT_URL,
  DATABASE_READ_URL,
  SOLANA_RPC_URLS = [],
  upstreams,
  tools = [],
  FEE_PAYER_SIGNER_TOKEN: signerToken,
  OTEL_EXPORTER_OTLP_HEADERS: collector = {},
  CELL_DATABASE_URLS: cells = new Map(),
  AWS_SECRET_ACCESS_KEY: archiveSecret,
  AWS_SESSION_TOKEN: archiveToken,
  OAUTH_CLIENTS: clients = [],
}: SecretSettings): string[] {
  const database = [DATABASE_URL, DATABASE_DIRECT_URL, DATABASE_READ_URL, ...cells.values()]
    .filter((urls) => urls !== undefined)
    .flatMap((urls) => serverUrls(urls) ?? [])
    .flatMap((text) => databaseSecrets(new URL(text)));
  const rpcKeys = SOLANA_RPC_URLS.flatMap((text) => rpcSecrets(new URL(text)));
  const apiKeys = upstreams.flatMap(({ apiKey, headers }) => [
    ...(apiKey ? [apiKey] : []),
    ...Object.values(headers),
  ]);
  const headers = [collector, ...tools.map((tool) => tool.headers)].flatMap((one) =>
    Object.values(one).flatMap(secretsOfHeader),
  );
  const single = [signerToken, archiveSecret, archiveToken].filter((secret) => secret !== undefined);
  const ofClients = clients.flatMap(({ credential }) => ("secret" in credential ? [credential.secret] : []));
  const secrets = new Set([...single, ...ofClients, ...database, ...rpcKeys, ...apiKeys, ...headers]);
  return [...secrets].filter((secret) => secret.length >= MIN_SECRET_LENGTH);
}

/** Both the user-info password and the parameter may appear in errors. */
function databaseSecrets({ password, search }: URL): string[] {
  const parameters = parametersOf(search).filter(({ name }) => PASSWORD_PARAMETER.test(name));
  return [...formsOf(password), ...parameters.flatMap(({ value }) => formsOf(value))];
}

/**
 * Providers put keys into user, password, query or path. Basic authentication sends user and password
 * together (RFC 7617).
 */
function rpcSecrets({ username, password, search, pathname }: URL): string[] {
  const credentials = username === "" || password === "" ? "" : `${username}:${password}`;
  const values = parametersOf(search).map(({ value }) => value);
  const parts = pathname.split("/").filter((part) => part.length >= MIN_PATH_KEY_LENGTH);
  return [username, password, credentials, ...values, ...parts].flatMap(formsOf);
}

/** Returns the query parameters as written, still percent-encoded. */
function parametersOf(search: string): { name: string; value: string }[] {
  return search
    .slice(1)
    .split("&")
    .map((part) => ({ name: part.split("=", 1)[0] ?? "", value: part.slice(part.indexOf("=") + 1) }));
}

/** Returns the text as written and in the forms a URL parser may produce. */
function formsOf(text: string): string[] {
  return [text, decoded(text), decoded(text.replaceAll("+", " "))];
}

/** Decodes percent-encoding (RFC 3986 section 2.1); leaves invalid sequences. */
function decoded(text: string): string {
  return text.replaceAll(/(?:%[\da-f]{2})+/gi, (encoded) => {
    try {
      return decodeURIComponent(encoded);
    } catch {
      return encoded;
    }
  });
}
