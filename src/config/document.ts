import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import canonicalize from "canonicalize";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import { isJsonObject, type JsonObject } from "../domain/core/json.ts";
import type { ModelAlias } from "../domain/tools/chat.ts";
import { aliasProblems } from "../inference/aliases.ts";
import { resolveUpstreams, type UpstreamSettings } from "../inference/upstream-settings.ts";
import { filesOf, resolveCustomTools, type CustomToolSettings } from "../tools/custom/settings.ts";
import { BUILT_IN_NAMES } from "../tools/index.ts";
import {
  ConfigError,
  configFileSchema,
  InvalidDocumentError,
  readableRest,
  variableProblems,
  withSecretFiles,
} from "./config-file.ts";
import type { ConfigFile, Environment } from "./config-file.ts";

/** The content of a configuration file, with the files that it refers to. */
export interface ConfigDocument {
  /** Canonical JSON (RFC 8785), so that equal content has equal text. */
  readonly text: string;
  /** SHA-256 of the text, hex. */
  readonly checksum: string;
  readonly content: ConfigFile;
}

export interface ResolvedDocument {
  readonly prices: ConfigFile["prices"];
  /** Servers for inference_chat; empty: the tool is unavailable. */
  readonly upstreams: readonly UpstreamSettings[];
  /** Names for one of several models of inference_chat. */
  readonly aliases: readonly ModelAlias[];
  readonly sandbox: ConfigFile["sandbox"];
  readonly tools: readonly CustomToolSettings[];
  /** Messages for the operator, each with the path of the setting. */
  readonly problems: readonly string[];
}

/**
 * Reads a configuration file and the files that it refers to. A missing one is reported when its tool is
 * opened.
 * @throws ConfigError with every problem
 */
export function readDocument(file: string): ConfigDocument {
  let given: unknown;
  try {
    given = parseYaml(readFileSync(file, "utf8"));
  } catch (error) {
    // The first line names the problem and its position; the rest quotes the file, which may contain
    // secrets.
    const [reason] = (error instanceof Error ? error.message : String(error)).split("\n");
    throw new ConfigError([`TOOLGATE_CONFIG: ${file} cannot be read as JSON or YAML: ${reason}`]);
  }
  const folder = path.dirname(path.resolve(file));
  let content: ConfigFile;
  try {
    content = contentOf(given ?? {}, file);
  } catch (error) {
    if (!(error instanceof InvalidDocumentError)) throw error;
    const { content: rest } = error.rest;
    throw new InvalidDocumentError(error.problems, readableRest(given, filesFor(rest, folder)));
  }
  const files = filesFor(content, folder);
  const members = isJsonObject(given) ? given : {};
  return documentOf(Object.keys(files).length === 0 ? members : { ...members, files }, content, files);
}

/** The files that a document holds, and those in a folder that its tools refer to. */
function filesFor(content: ConfigFile, folder: string): Record<string, string> {
  const files: Record<string, string> = { ...content.files };
  for (const name of missingFiles(content)) {
    const stored = read(path.resolve(folder, name));
    if (stored !== undefined) files[name] = stored;
  }
  return files;
}

/** Parses a stored document. @throws ConfigError with every problem */
export function parseDocument(text: string, source: string): ConfigDocument {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw new ConfigError([`${source}: is not JSON`]);
  }
  const content = contentOf(given, source);
  return documentOf(isJsonObject(given) ? given : {}, content, content.files ?? {});
}

/** Files that the document's tools refer to and that it does not hold, as written. */
export function missingFiles({ tools, files = {} }: ConfigFile): string[] {
  return [...new Set(tools.flatMap(filesOf))].filter((name) => !Object.hasOwn(files, name));
}

/** Merges a document with the environment. @param folder base of relative paths of files it does not hold */
export function resolveDocument(
  content: ConfigFile,
  environment: Environment,
  folder: string,
): ResolvedDocument {
  const problems = variableProblems(content, environment);
  const env = withSecretFiles(environment, content, problems);
  const inference = resolveUpstreams(content.inference, env);
  const { files = {} } = content;
  const custom = resolveCustomTools(content.tools, { env, folder, files, reservedNames: BUILT_IN_NAMES });
  return {
    prices: content.prices,
    upstreams: inference.upstreams,
    aliases: content.inference.aliases,
    sandbox: content.sandbox,
    tools: custom.tools,
    problems: [...problems, ...inference.problems, ...aliasProblems(content.inference), ...custom.problems],
  };
}

function contentOf(given: unknown, source: string): ConfigFile {
  const parsed = configFileSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new InvalidDocumentError(
    parsed.error.issues.map(
      (issue) => `${source}: ${z.core.toDotPath(issue.path) || "the file"}: ${issue.message}`,
    ),
    readableRest(given),
  );
}

function documentOf(
  members: JsonObject,
  content: ConfigFile,
  files: Readonly<Record<string, string>>,
): ConfigDocument {
  const text = canonicalize(members) ?? "{}";
  return { text, checksum: hash("sha256", text), content: { ...content, files } };
}

/** Base64; undefined when the file cannot be read. */
function read(file: string): string | undefined {
  try {
    return readFileSync(file).toString("base64");
  } catch {
    return undefined;
  }
}
