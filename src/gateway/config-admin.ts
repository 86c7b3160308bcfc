import process from "node:process";
import type {
  CheckedDocument,
  ConfigAdmin,
  ConfigApplication,
  ConfigDecision,
  ConfigPlan,
  ToolTrial,
} from "../app/operations/config-admin.ts";
import {
  requireApplied,
  tierProblems,
  type ConfigVersion,
  type ConfigVersions,
} from "../app/operations/config-versions.ts";
import { ConfigError } from "../config/config.ts";
import { parseDocument, resolveDocument, type ConfigDocument } from "../config/document.ts";
import type { Environment } from "../config/secret-files.ts";
import { invalidField, ToolgateError } from "../domain/core/errors.ts";
import { isJsonObject, type JsonObject } from "../domain/core/json.ts";
import { configChanges } from "../domain/operations/config-changes.ts";
import { createLogger } from "../log.ts";
import { checkDocument, offeredTools } from "./document-check.ts";
import { tryTool } from "./tool-trial.ts";

const EMPTY = parseDocument("{}", "the defaults");

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
      if (error instanceof ConfigError) return { problems: error.problems, warnings: [] };
      throw error;
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
    const tried = await tryTool(settings, { params, signal, log: SILENT });
    if (tried) return tried;
    throw new ToolgateError("TOOL_FAILED", `the server of ${name} did not describe the tool`);
  }

  async apply(text: string, decision: ConfigDecision): Promise<ConfigApplication> {
    const { document } = await this.#valid(text, "document");
    return this.#apply(document, "apply", decision);
  }

  async rollBack(version: number | undefined, decision: ConfigDecision): Promise<ConfigApplication> {
    const target = version ?? (await this.show(undefined)).version - 1;
    const { document: text } = await this.show(target);
    const { document } = await this.#valid(text, `version ${target}`);
    const note = decision.note ?? `rollback to version ${target}`;
    return this.#apply(document, "rollback", { ...decision, note });
  }

  async show(version: number | undefined): Promise<ConfigVersion> {
    const { versions } = this.#deps;
    const found = await (version === undefined ? versions.newest() : versions.find(version));
    if (found) return found;
    throw new ToolgateError(
      "NOT_FOUND",
      version === undefined
        ? "no version is stored: instances use their own"
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
    const sideOf = async (side: ConfigDocument) => ({
      document: membersOf(side),
      tools: await offeredTools(side, environment(), SILENT).catch(() => []),
    });
    const [old, now] = await Promise.all([sideOf(before), sideOf(document)]);
    return { version, changes: configChanges(old, now) };
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

function membersOf({ text }: ConfigDocument): JsonObject {
  const members: unknown = JSON.parse(text);
  return isJsonObject(members) ? members : {};
}
