import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { requireApplied, tierProblems } from "../app/operations/config-versions.ts";
import type {
  CheckedDocument,
  ConfigAdmin,
  ConfigApplication,
  ConfigDecision,
  ConfigPlan,
  ToolTrial,
  ConfigVersion,
  ConfigVersions,
  SwitchReport,
} from "../app/operations/config-versions.ts";
import { missingFiles, resolveDocument, parseDocument } from "../config/document.ts";
import type { ConfigDocument, ResolvedDocument } from "../config/document.ts";
import { InvalidDocumentError, referencedVariables, type Environment } from "../config/config-file.ts";
import { type OfferedTool, configChanges } from "../domain/operations/config-changes.ts";
import type { Log } from "../domain/core/log.ts";
import { ConfigError } from "../config/config.ts";
import { invalidField, ToolgateError } from "../domain/core/errors.ts";
import { isJsonObject, type JsonObject } from "../domain/core/json.ts";
import { formatTokenRate } from "../domain/tools/chat.ts";
import { createLogger } from "../log.ts";
import { customToolProblems, openCustomTools } from "./custom-tools.ts";
import { trialDetails } from "./trial-details.ts";
import { TrialReach } from "./trial-reach.ts";
import { tryTool } from "./tool-trial.ts";

/** How long servers may take to describe their tools, ms. */
const DESCRIBE_MS = 5_000;

/** How often instances are asked for the version that they use, ms. */
const SWITCH_POLL_MS = 100;

/** Checks a document without calling a server or reading a file: it has to hold the files of its tools. */
export async function checkDocument(
  { content }: Pick<ConfigDocument, "content">,
  environment: Environment,
  log: Log,
): Promise<CheckedDocument> {
  const anywhere = resolveDocument(content, placeholders(content, environment), process.cwd());
  const missing = missingFiles(content);
  const problems = [
    ...anywhere.problems,
    ...missing.map((file) => `files: ${file} is missing or cannot be read`),
    ...(await customToolProblems(anywhere, log)).filter(
      (text) => !missing.some((file) => text.includes(file)),
    ),
  ];
  const here = resolveDocument(content, environment, process.cwd());
  return { problems, warnings: here.problems.filter((problem) => !problems.includes(problem)) };
}

/** Returns the problems of a document without the right form, and those of its tools that have it. */
export async function problemsOfInvalid(
  error: ConfigError,
  environment: Environment,
  log: Log,
): Promise<readonly string[]> {
  if (!(error instanceof InvalidDocumentError)) return error.problems;
  const { content, places } = error.rest;
  const { problems } = await checkDocument({ content }, environment, log);
  const moved = problems.map((problem) =>
    problem.replace(/^tools\[(\d+)\]/, (_, index: string) => `tools[${places[Number(index)]}]`),
  );
  return [...error.problems, ...moved];
}

/**
 * Returns the document's custom tools as their servers describe them now.
 * @throws ConfigError for a document with problems
 */
async function offeredTools(
  { content }: Pick<ConfigDocument, "content">,
  environment: Environment,
  reach: TrialReach,
): Promise<OfferedTool[]> {
  const tools = usable(content, environment).tools.map((tool) => reach.narrowed(tool));
  const opened = await openCustomTools({ tools }, SILENT);
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
  return here.problems.length === 0
    ? here
    : resolveDocument(content, placeholders(content, environment), process.cwd());
}

/** Valid values of all variables that the document refers to. */
function placeholders(content: ConfigDocument["content"], { TOOL_ENV_PREFIX }: Environment): Environment {
  const upstreams = content.inference.upstreams ?? [];
  const addresses = upstreams.map((entry) => [entry.base_url_env, "https://unset.invalid/v1"] as const);
  const secrets = referencedVariables(content).map((name) => [name, "unset"] as const);
  return { ...Object.fromEntries([...secrets, ...addresses]), TOOL_ENV_PREFIX };
}

const EMPTY = parseDocument("{}", "the defaults");

/** As a document has them: whole numbers of micro-USD, and USD per million tokens. */
const DEFAULT_PRICES: JsonObject = {
  prices: plainJson(EMPTY.content.prices),
  inference: {
    default_model: {
      input_usd_per_million: Number(
        formatTokenRate(EMPTY.content.inference.default_model.input_usd_per_million),
      ),
      output_usd_per_million: Number(
        formatTokenRate(EMPTY.content.inference.default_model.output_usd_per_million),
      ),
    },
  },
};

const SILENT = createLogger("silent", { secrets: [] });

export interface ConfigAdminDeps {
  readonly versions: ConfigVersions;
  /** Variables that documents refer to. */
  readonly environment: () => Environment;
}

/** Implements the operators' changes of the configuration. */
export class StoredConfigAdmin implements ConfigAdmin {
  readonly #deps: ConfigAdminDeps;

  constructor(deps: ConfigAdminDeps) {
    this.#deps = deps;
  }

  async validate(text: string): Promise<CheckedDocument> {
    try {
      return await this.#check(parseDocument(text, "document"));
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      const problems = await problemsOfInvalid(error, this.#deps.environment(), SILENT);
      return { problems, warnings: [] };
    }
  }

  async plan(text: string): Promise<ConfigPlan> {
    const { document, warnings } = await this.#valid(text, "document");
    return { ...(await this.#changes(document)), warnings };
  }

  async tryTool(
    text: string,
    { tool: name, params }: { tool: string; params: JsonObject },
    signal: AbortSignal,
  ): Promise<ToolTrial> {
    const { document, warnings } = await this.#valid(text, "document");
    const { tools } = resolveDocument(document.content, this.#deps.environment(), process.cwd());
    const settings = tools.find((tool) => tool.name === name);
    if (!settings) {
      const own = warnings.join("; ");
      throw invalidField("tool", own || `the document has no custom tool ${JSON.stringify(name)}`);
    }
    const index = document.content.tools.findIndex((tool) => tool.name === name);
    const [refused] = (await this.#reach()).problems(settings, `document: tools[${index}]`);
    if (refused !== undefined) throw new ToolgateError("INVALID_REQUEST", refused);
    return tryTool(settings, { params, signal, log: SILENT });
  }

  trialDetails(text: string, tool: string): JsonObject {
    return trialDetails(text, tool);
  }

  async apply(text: string, decision: ConfigDecision): Promise<ConfigApplication> {
    const { document } = await this.#valid(text, "document");
    return this.#apply(document, "apply", decision);
  }

  async rollBack(version: number | undefined, decision: ConfigDecision): Promise<ConfigApplication> {
    const target = version ?? (await this.show(undefined)).version - 1;
    if (target === 0)
      throw new ToolgateError(
        "NOT_FOUND",
        "version 1 is the first: there is none before it to return to; apply a file with what should hold " +
          "(config apply)",
      );
    const { document: text } = await this.show(target);
    const { document } = await this.#valid(text, `version ${target}`);
    const note = decision.note ?? `rollback to version ${target}`;
    return this.#apply(document, "rollback", { ...decision, note });
  }

  async awaitSwitch(version: number, waitMs: number, signal?: AbortSignal): Promise<SwitchReport> {
    const until = performance.now() + waitMs;
    for (;;) {
      const live = await this.#deps.versions.instances();
      const behind = live.filter((one) => one.version === undefined || one.version < version);
      if (behind.length === 0 || performance.now() >= until) return { live: live.length, behind };
      await sleep(SWITCH_POLL_MS, undefined, { signal });
    }
  }

  async show(version: number | undefined): Promise<ConfigVersion> {
    const { versions } = this.#deps;
    const found = await (version === undefined ? versions.newest() : versions.find(version));
    if (found) return found;
    throw new ToolgateError(
      "NOT_FOUND",
      version === undefined
        ? "no version is stored: instances use their own; apply a file first (config apply)"
        : `there is no version ${version}`,
    );
  }

  list(query: Parameters<ConfigAdmin["list"]>[0]): ReturnType<ConfigAdmin["list"]> {
    return this.#deps.versions.list(query);
  }

  async #apply(
    document: ConfigDocument,
    source: "apply" | "rollback",
    { expected, actor, note }: ConfigDecision,
  ): Promise<ConfigApplication> {
    const { version: replaced, changes } = await this.#changes(document);
    const { text, content } = document;
    const wanted = {
      document: text,
      tiers: content.tiers,
      source,
      actor,
      note,
      expected: expected ?? replaced,
    };
    const applied = requireApplied(await this.#deps.versions.apply(wanted), wanted.expected);
    return { ...applied, replaced, changes };
  }

  async #changes(document: ConfigDocument): Promise<Pick<ConfigPlan, "version" | "changes">> {
    const { versions, environment } = this.#deps;
    const newest = await versions.newest();
    const version = newest?.version ?? 0;
    const before = newest ? parseDocument(newest.document, `version ${version}`) : EMPTY;
    if (before.checksum === document.checksum) return { version, changes: [] };
    const reach = await this.#reach();
    const sideOf = async (side: ConfigDocument) => ({
      document: membersOf(side),
      tools: await offeredTools(side, environment(), reach).catch(() => []),
    });
    const [old, now] = await Promise.all([sideOf(before), sideOf(document)]);
    return { version, changes: configChanges(old, now, DEFAULT_PRICES) };
  }

  async #reach(): Promise<TrialReach> {
    const newest = await this.#deps.versions.newest();
    if (!newest) return new TrialReach([]);
    const { content } = parseDocument(newest.document, `version ${newest.version}`);
    return new TrialReach(resolveDocument(content, this.#deps.environment(), process.cwd()).tools);
  }

  async #valid(text: string, source: string) {
    try {
      const document = parseDocument(text, source);
      const { problems: own, warnings } = await this.#check(document);
      const problems = [...own, ...(await tierProblems(this.#deps.versions, document.content.tiers))];
      if (problems.length > 0) throw new ConfigError(problems);
      return { document, warnings };
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      throw new ToolgateError("INVALID_REQUEST", error.message, { cause: error });
    }
  }

  async #check(document: ConfigDocument): Promise<CheckedDocument> {
    return checkDocument(document, this.#deps.environment(), SILENT);
  }
}

function plainJson(value: object): JsonObject {
  const plain: unknown = JSON.parse(
    JSON.stringify(value, (_, member: unknown) => (typeof member === "bigint" ? Number(member) : member)),
  );
  return isJsonObject(plain) ? plain : {};
}

function membersOf({ text }: ConfigDocument): JsonObject {
  const members: unknown = JSON.parse(text);
  return isJsonObject(members) ? members : {};
}
