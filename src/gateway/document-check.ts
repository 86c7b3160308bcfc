import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import type { CheckedDocument } from "../app/operations/config-admin.ts";
import {
  missingFiles,
  resolveDocument,
  type ConfigDocument,
  type ResolvedDocument,
} from "../config/document.ts";
import type { Environment } from "../config/secret-files.ts";
import type { OfferedTool } from "../domain/operations/config-changes.ts";
import type { Log } from "../domain/core/log.ts";
import { customToolProblems, openCustomTools } from "./custom-tools.ts";

/** How long servers may take to describe their tools, ms. */
const DESCRIBE_MS = 5_000;

/** Checks a document without calling a server or reading a file: it has to hold the files of its tools. */
export async function checkDocument(
  { content }: Pick<ConfigDocument, "content">,
  environment: Environment,
  log: Log,
): Promise<CheckedDocument> {
  const anywhere = resolveDocument(content, placeholders(content), process.cwd());
  const missing = missingFiles(content).map((file) => `files: ${file} is missing or cannot be read`);
  const problems = [...anywhere.problems, ...missing];
  if (problems.length === 0) problems.push(...(await customToolProblems(anywhere, log)));
  const here = resolveDocument(content, environment, process.cwd());
  return { problems, warnings: here.problems.filter((problem) => !problems.includes(problem)) };
}

/**
 * Returns the document's custom tools as their servers describe them now.
 * @throws ConfigError for a document with problems
 */
export async function offeredTools(
  { content }: Pick<ConfigDocument, "content">,
  environment: Environment,
  log: Log,
): Promise<OfferedTool[]> {
  const { tools } = usable(content, environment);
  const opened = await openCustomTools({ tools }, log);
  const overdue = new AbortController();
  try {
    const limit = sleep(DESCRIBE_MS, undefined, { signal: overdue.signal }).catch(() => {});
    await Promise.race([opened.described, limit]);
    return opened.tools.map(({ name, status, inputSchema }) => ({
      name,
      inputSchema: status === "active" ? inputSchema : undefined,
    }));
  } finally {
    overdue.abort();
    await opened.close();
  }
}

/** The document with this machine's variables, or with placeholders where they are missing. */
function usable(content: ConfigDocument["content"], environment: Environment): ResolvedDocument {
  const here = resolveDocument(content, environment, process.cwd());
  return here.problems.length === 0 ? here : resolveDocument(content, placeholders(content), process.cwd());
}

/** Valid values of all variables that the document refers to. */
function placeholders({ inference, tools }: ConfigDocument["content"]): Environment {
  const upstreams = inference.upstreams ?? [];
  const addresses = upstreams.map((entry) => [entry.base_url_env, "https://unset.invalid/v1"] as const);
  const secrets = [
    ...upstreams.flatMap((entry) => [entry.api_key_env, ...Object.values(entry.headers_env)]),
    ...tools.flatMap((entry) => Object.values(entry.headers_env)),
  ];
  return Object.fromEntries([...secrets.map((name) => [name, "unset"] as const), ...addresses]);
}
