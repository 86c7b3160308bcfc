import path from "node:path";
import process from "node:process";
import { type Command, InvalidArgumentError } from "commander";
import type { ConfigVersion } from "../app/operations/config-versions.ts";
import { ConfigError, readEnvironment } from "../config/config.ts";
import { parseDocument, readDocument, type ConfigDocument } from "../config/document.ts";
import { isJsonObject, type JsonObject } from "../domain/core/json.ts";
import { configChanges, type ConfigChange } from "../domain/operations/config-changes.ts";
import { createLogger } from "../log.ts";
import type { Postgres } from "../postgres/index.ts";
import { reason } from "./arguments.ts";
import { CommandError } from "./command-error.ts";
import { withPostgres } from "./database.ts";
import { outputFor } from "./output.ts";
import { limitOption, printPage, type PageOptions } from "./page.ts";

/** Exit code of a plan with changes. */
const CHANGES = 3;

const EMPTY = parseDocument("{}", "the defaults");

/** `config validate | plan | apply | history | show | rollback` */
export function addConfigCommands(program: Command): void {
  const config = program
    .command("config")
    .description("changes tools, prices and models of all instances without a restart");
  addFileCommands(config);
  addVersionCommands(config);
}

function addFileCommands(config: Command): void {
  config
    .command("validate")
    .description("checks a configuration file; exits with 1 when it is invalid")
    .argument("<file>", "JSON or YAML file")
    .option("--json", "print JSON")
    .action(async (file: string, { json = false }: { json?: boolean }) => {
      const { warnings } = await validDocument(file, json);
      if (json) outputFor(json).record({ ok: true, problems: [], warnings });
      else process.stdout.write(`${warningLines(warnings)}${file} is valid.\n`);
    });

  config
    .command("plan")
    .description(`shows what applying a file changes; exits with ${CHANGES} when there are changes`)
    .argument("<file>", "JSON or YAML file")
    .option("--json", "print JSON")
    .action(async (file: string, { json = false }: { json?: boolean }) => {
      const { document, folder, warnings } = await validDocument(file, json);
      const { version, changes } = await withPostgres((postgres) => planOf(postgres, document, folder));
      if (json) outputFor(json).record({ version, changes: changes.map(changeRecord), warnings });
      else process.stdout.write(`${warningLines(warnings)}${planLines(version, changes)}`);
      if (changes.length > 0) process.exitCode = CHANGES;
    });

  config
    .command("apply")
    .description("applies a file to all instances, which switch within a second")
    .argument("<file>", "JSON or YAML file")
    .option("--expect <version>", "apply only if this version is in force, as plan showed; 0: none", version)
    .option("--note <text>", "why, for the history", reason)
    .option("--json", "print JSON")
    .action(async (file: string, options: ApplyOptions) => {
      const { document, folder, warnings } = await validDocument(file, options.json ?? false);
      if (!options.json) process.stderr.write(warningLines(warnings));
      await withPostgres((postgres) => apply(postgres, { document, folder, source: "apply" }, options));
    });
}

function addVersionCommands(config: Command): void {
  config
    .command("history")
    .description(
      "lists the versions, newest first; with --json a last line has next_cursor if there are more",
    )
    .addOption(limitOption("versions"))
    .option("--cursor <cursor>", "continue after the previous page")
    .option("--json", "print JSON lines")
    .action(async ({ limit, cursor, json }: PageOptions) => {
      const page = await withPostgres((postgres) => postgres.configVersions.list({ limit, cursor }));
      printPage(page, { json, record: versionRecord, nothing: "No version: instances use their own." });
    });

  config
    .command("show")
    .description("prints the document of a version as JSON; by default of the one in force")
    .argument("[version]", "its number", version)
    .action(async (number?: number) => {
      const { document } = await withPostgres((postgres) => stored(postgres, number));
      process.stdout.write(`${document}\n`);
    });

  config
    .command("rollback")
    .description("applies an earlier version again, as a new version; by default the one before")
    .argument("[version]", "its number", version)
    .option("--expect <version>", "only if this version is in force", version)
    .option("--note <text>", "why, for the history", reason)
    .option("--json", "print JSON")
    .action(async (number: number | undefined, options: ApplyOptions) => {
      await withPostgres(async (postgres) => {
        const target = number ?? (await stored(postgres)).version - 1;
        const { document: text } = await stored(postgres, target);
        const document = await checked(parseDocument(text, `version ${target}`), ".", options.json ?? false);
        const note = options.note ?? `rollback to version ${target}`;
        await apply(postgres, { document, folder: ".", source: "rollback" }, { ...options, note });
      });
    });
}

interface ApplyOptions {
  expect?: number;
  note?: string;
  json?: boolean;
}

interface Plan {
  /** The version in force; 0: none. */
  readonly version: number;
  readonly changes: readonly ConfigChange[];
}

async function planOf({ configVersions }: Postgres, document: ConfigDocument, folder: string): Promise<Plan> {
  const newest = await configVersions.newest();
  const before = newest ? parseDocument(newest.document, `version ${newest.version}`) : EMPTY;
  if (before.checksum === document.checksum) return { version: newest?.version ?? 0, changes: [] };
  const { offeredTools } = await import("../gateway/document-check.ts");
  const log = createLogger("silent", { secrets: [] });
  const sides = await Promise.all(
    [before, document].map(async (side) => ({
      document: membersOf(side),
      tools: await offeredTools(side, readEnvironment(), folder, log).catch(() => []),
    })),
  );
  const [old, now] = sides;
  return { version: newest?.version ?? 0, changes: old && now ? configChanges(old, now) : [] };
}

async function apply(
  postgres: Postgres,
  { document, folder, source }: { document: ConfigDocument; folder: string; source: "apply" | "rollback" },
  { expect, note, json = false }: ApplyOptions,
): Promise<void> {
  const plan = await planOf(postgres, document, folder);
  const applied = await postgres.configVersions.apply({
    document: document.text,
    source,
    actor: "",
    note,
    expected: expect ?? plan.version,
  });
  const { outcome, version: number } = applied;
  if (json) outputFor(json).record({ version: number, outcome, changes: plan.changes.map(changeRecord) });
  else if (outcome === "unchanged") process.stdout.write(`Version ${number} is in force: nothing to do.\n`);
  else process.stdout.write(`${planLines(plan.version, plan.changes)}Version ${number} is in force.\n`);
}

async function stored({ configVersions }: Postgres, number?: number): Promise<ConfigVersion> {
  const found = await (number === undefined ? configVersions.newest() : configVersions.find(number));
  if (found) return found;
  throw new CommandError(
    number === undefined ? "no version is stored: instances use their own" : `there is no version ${number}`,
  );
}

async function validDocument(file: string, json: boolean) {
  const folder = path.dirname(path.resolve(file));
  try {
    return { folder, ...(await inspect(readDocument(file), folder)) };
  } catch (error) {
    throw invalid(error, json);
  }
}

async function checked(document: ConfigDocument, folder: string, json: boolean): Promise<ConfigDocument> {
  try {
    return (await inspect(document, folder)).document;
  } catch (error) {
    throw invalid(error, json);
  }
}

async function inspect(document: ConfigDocument, folder: string) {
  const { checkDocument } = await import("../gateway/document-check.ts");
  const log = createLogger("silent", { secrets: [] });
  const { problems, warnings } = await checkDocument(document, readEnvironment(), folder, log);
  if (problems.length > 0) throw new ConfigError(problems);
  return { document, warnings };
}

/** An invalid document exits with 1; wrong arguments and settings of this machine exit with 2. */
function invalid(error: unknown, json: boolean): unknown {
  if (!(error instanceof ConfigError)) return error;
  if (json) outputFor(true).record({ ok: false, problems: error.problems, warnings: [] });
  return new CommandError(error.message);
}

function membersOf({ text }: ConfigDocument): JsonObject {
  const members: unknown = JSON.parse(text);
  return isJsonObject(members) ? members : {};
}

function warningLines(warnings: readonly string[]): string {
  return warnings.map((warning) => `warning: on this machine, ${warning}\n`).join("");
}

function planLines(before: number, changes: readonly ConfigChange[]): string {
  if (changes.length === 0) return "No changes.\n";
  const from = before === 0 ? "the defaults" : `version ${before}`;
  const lines = changes.map(({ text, affectsCallers }) => `${affectsCallers ? "!" : "-"} ${text}\n`);
  return `Changes from ${from} (!: callers notice):\n${lines.join("")}`;
}

function changeRecord({ kind, affectsCallers, text }: ConfigChange) {
  return { kind, affects_callers: affectsCallers, text };
}

function versionRecord({ version: number, appliedAt, source, actor, checksum, note }: ConfigVersion) {
  return {
    version: number,
    applied_at: appliedAt,
    source,
    actor,
    checksum: checksum.slice(0, 12),
    note: note ?? null,
  };
}

function version(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("must be the number of a version");
  return Number(text);
}
