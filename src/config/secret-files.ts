import { readFileSync } from "node:fs";
import type { ConfigFile } from "./config-file.ts";
import { SECRET_SETTINGS, settings } from "./settings.ts";

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
 * Returns a problem for each variable that is a setting of the gateway. A document, which an operator may
 * send from elsewhere, must not send the database's password to a server of its choice.
 */
export function ownSettings(file: ConfigFile): string[] {
  const bases = (file.inference.upstreams ?? []).map((entry) => entry.base_url_env);
  const refused = new Set([...bases, ...referencedVariables(file)].filter(isOwnSetting));
  return [...refused].map((name) => `${name}: is a setting of the gateway; use a variable of another name`);
}

function isOwnSetting(name: string): boolean {
  return !name.startsWith("INFERENCE_") && Object.hasOwn(settings, name.replace(/_FILE$/, ""));
}

/** Names of the variables that hold keys and headers of upstreams and custom tools. */
function referencedVariables({ inference, tools }: ConfigFile): string[] {
  const upstreams = inference.upstreams ?? [];
  return [
    ...upstreams.flatMap((entry) => [entry.api_key_env, ...Object.values(entry.headers_env)]),
    ...tools.flatMap((entry) => Object.values(entry.headers_env)),
  ];
}
