import { readFileSync } from "node:fs";
import { z } from "zod";
import { DEFAULT_TIER, MAX_TIER, type Tiers } from "../domain/accounts/caller.ts";
import { inferenceSchema, keyBeside, keyVariableOf, pairedKey } from "../inference/config.ts";
import { customToolsSchema } from "../tools/custom/config.ts";
import { sandboxSchema } from "../sandbox/config.ts";
import { pricesSchema } from "../tools/index.ts";
import { SECRET_SETTINGS, settings } from "./settings.ts";

const rate = z.int().min(1).max(MAX_TIER.ratePerMinute);
const burst = z.int().min(1).max(MAX_TIER.burst);

/** The `tiers` section of the configuration file: rate limits by name. */
const tiersSchema = z
  .record(
    z.string().regex(/^[a-z0-9][a-z0-9_-]{0,39}$/, "is 1 to 40 characters of a-z, 0-9, _ and -"),
    z.strictObject({
      rate_per_minute: rate,
      burst,
      account_rate_per_minute: rate.optional(),
      account_burst: burst.optional(),
    }),
  )
  .default({})
  .transform((tiers): Tiers => ({
    default: { rate_per_minute: DEFAULT_TIER.ratePerMinute, burst: DEFAULT_TIER.burst },
    ...tiers,
  }));

/**
 * Schema of the TOOLGATE_CONFIG file (JSON or YAML). Unknown members are errors, so a misspelt price never
 * falls back to a default.
 */
export const configFileSchema = z.strictObject({
  prices: pricesSchema,
  inference: inferenceSchema,
  sandbox: sandboxSchema,
  tiers: tiersSchema,
  tools: customToolsSchema,
  /** Content of the files that tools refer to, by their path as written; `config apply` adds it. */
  files: z.record(z.string(), z.base64()).optional(),
});

/** The file with all defaults filled in. */
export type ConfigFile = z.output<typeof configFileSchema>;

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

/** A document that does not have the form of the configuration file. */
export class InvalidDocumentError extends ConfigError {
  /** What was given, without what is wrong: its other problems can be found too. */
  readonly rest: ReadableRest;

  constructor(problems: readonly string[], rest: ReadableRest) {
    super(problems);
    this.rest = rest;
  }
}

export interface ReadableRest {
  /** Its tools are those that have the right form. */
  readonly content: ConfigFile;
  /** Places of these tools in the document. */
  readonly places: readonly number[];
}

/** Returns the tools of a document that have the right form, and the rest of it as the defaults are. */
export function readableRest(given: unknown, files: Readonly<Record<string, string>> = {}): ReadableRest {
  const members = typeof given === "object" && given !== null && "tools" in given ? given.tools : [];
  const entries: readonly unknown[] = Array.isArray(members) ? members : [];
  const places = [...entries.keys()].filter(
    (place) => configFileSchema.safeParse({ tools: [entries[place]] }).success,
  );
  const tools = places.map((place) => entries[place]);
  return { content: configFileSchema.parse({ tools, files }), places };
}

/** Environment variables; unset ones are missing. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the environment with the content of NAME_FILE as NAME, for every setting that holds a secret and
 * every variable that the configuration file refers to. One newline at the end of a file is dropped.
 */
export function withSecretFiles(environment: Environment, file: ConfigFile, problems: string[]): Environment {
  const merged: Record<string, string | undefined> = { ...environment };
  for (const name of new Set([...SECRET_SETTINGS, ...referencedVariables(file)])) {
    const from = environment[`${name}_FILE`];
    if (from === undefined || from === "") continue;
    if (environment[name] !== undefined) {
      problems.push(`${name}_FILE: ${name} is set too; remove one of them`);
      continue;
    }
    try {
      const content = readFileSync(from, "utf8").replace(/\r?\n$/, "");
      if (content === "") problems.push(`${name}_FILE: ${from} is empty`);
      else merged[name] = content;
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
      problems.push(`${name}_FILE: ${from} cannot be read (${code})`);
    }
  }
  return merged;
}

/**
 * Returns a problem for each variable that a document may not name. An operator may send a document from
 * elsewhere: it must not send this machine's variables, or a model server's key, to a server of its choice.
 */
export function variableProblems(file: ConfigFile, environment: Environment): string[] {
  const prefix = variablePrefix(environment);
  return namedVariables(file).flatMap(({ path, name, pair }) => {
    if (name === pair) return [];
    const remedy = `use a variable that begins with ${prefix} (TOOL_ENV_PREFIX)`;
    if (isOwnSetting(name)) return [`${path}: ${name} is a setting of the gateway; ${remedy}`];
    if (name.startsWith(prefix)) return [];
    return [`${path}: documents may not name ${name}; ${remedy}`];
  });
}

function variablePrefix({ TOOL_ENV_PREFIX: given }: Environment): string {
  return settings.TOOL_ENV_PREFIX.safeParse(given || undefined).data ?? "";
}

function isOwnSetting(name: string): boolean {
  return Object.hasOwn(settings, name.replace(/_FILE$/, ""));
}

interface NamedVariable {
  /** Of the setting that names it, e.g. `tools[0].headers_env.X-Key`. */
  readonly path: string;
  readonly name: string;
  /** The one name without the prefix that is allowed there. */
  readonly pair?: string | undefined;
}

/** The variables that a document names, with those of addresses. */
function namedVariables({ inference: { upstreams = [] }, tools }: ConfigFile): NamedVariable[] {
  return [
    ...upstreams.flatMap((entry, index) => {
      const at = `inference.upstreams[${index}]`;
      const { base_url, base_url_env: address, headers_env, api_key_env } = entry;
      const pair = pairedKey(entry);
      const isModelAddress = keyBeside(address) !== undefined;
      return [
        ...(base_url === undefined && !isModelAddress ? [{ path: `${at}.base_url_env`, name: address }] : []),
        ...(api_key_env === undefined ? [] : [{ path: `${at}.api_key_env`, name: api_key_env, pair }]),
        ...headersIn(at, headers_env).map((header) => ({ ...header, pair })),
      ];
    }),
    ...tools.flatMap(({ headers_env }, index) => headersIn(`tools[${index}]`, headers_env)),
  ];
}

function headersIn(at: string, headers: Readonly<Record<string, string>>): NamedVariable[] {
  return Object.entries(headers).map(([header, name]) => ({ path: `${at}.headers_env.${header}`, name }));
}

/** Names of the variables that hold keys and headers of upstreams and custom tools. */
export function referencedVariables({ inference, tools }: ConfigFile): string[] {
  const upstreams = inference.upstreams ?? [];
  return [
    ...upstreams.flatMap((entry) => [keyVariableOf(entry) ?? [], Object.values(entry.headers_env)].flat()),
    ...tools.flatMap((entry) => Object.values(entry.headers_env)),
  ];
}
