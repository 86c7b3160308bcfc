import process from "node:process";
import { type Command, InvalidArgumentError, Option } from "commander";
import { z } from "zod";
import type {
  ConfigAdmin,
  ConfigApplication,
  ConfigDecision,
  ConfigVersion,
  LiveInstance,
  SwitchReport,
} from "../app/operations/config-versions.ts";
import { ConfigError, readEnvironment } from "../config/config.ts";
import { readDocument } from "../config/document.ts";
import type { ConfigChange } from "../domain/operations/config-changes.ts";
import { createLogger } from "../log.ts";
import {
  duration,
  reason,
  CommandError,
  outputFor,
  limitOption,
  printPage,
  type PageOptions,
} from "./command.ts";
import { withPostgres } from "./database.ts";
import type { ReloadReport } from "./control-socket.ts";

/** Exit code of a plan with changes. */
const CHANGES = 3;

/** Exit code when a version is in force that some instances do not use. */
const BEHIND = 4;

/** Longer than an instance polls that misses a notification. */
const WAIT = "30s";

const BEHIND_HELP = `lists those that do not use it in time and exits with ${BEHIND} then`;

/** `config validate | plan | apply | history | show | rollback` */
export function addConfigCommands(program: Command): void {
  const config = program
    .command("config")
    .description("changes tools, prices and models of all instances without a restart");
  addFileCommands(config);
  addVersionCommands(config);
  addReloadCommand(config);
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
      const { text, warnings } = await validDocument(file, json);
      const { version, changes } = await withAdmin((admin) => admin.plan(text));
      if (json) outputFor(json).record({ version, changes: changes.map(changeRecord), warnings });
      else process.stdout.write(`${warningLines(warnings)}${planLines(version, changes)}`);
      if (changes.length > 0) process.exitCode = CHANGES;
    });

  config
    .command("apply")
    .description(`applies a file to all instances and waits for them; ${BEHIND_HELP}`)
    .argument("<file>", "JSON or YAML file")
    .option("--expect <version>", "apply only if this version is in force, as plan showed; 0: none", version)
    .option("--note <text>", "why, for the history", reason)
    .addOption(waitOption())
    .option("--json", "print JSON")
    .action(async (file: string, options: ApplyOptions) => {
      const { text, warnings } = await validDocument(file, options.json ?? false);
      if (!options.json) process.stderr.write(warningLines(warnings));
      await change((admin) => admin.apply(text, decisionOf(options)), options);
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
      const page = await withAdmin((admin) => admin.list({ limit, cursor }));
      printPage(page, { json, record: versionRecord, nothing: "No version: instances use their own." });
    });

  config
    .command("show")
    .description("prints the document of a version as JSON; by default of the one in force")
    .argument("[version]", "its number", version)
    .action(async (number?: number) => {
      const { document } = await withAdmin((admin) => admin.show(number));
      process.stdout.write(`${document}\n`);
    });

  config
    .command("rollback")
    .description(
      `applies an earlier version again, as a new version; by default the one before; ${BEHIND_HELP}`,
    )
    .argument("[version]", "its number", version)
    .option("--expect <version>", "only if this version is in force", version)
    .option("--note <text>", "why, for the history", reason)
    .addOption(waitOption())
    .option("--json", "print JSON")
    .action(async (number: number | undefined, options: ApplyOptions) => {
      await change((admin) => admin.rollBack(number, decisionOf(options)), options);
    });
}

function addReloadCommand(config: Command): void {
  config
    .command("reload")
    .description("makes the running serve of CONTROL_SOCKET read its settings again, as SIGHUP does")
    .option("--json", "print JSON")
    .action(async ({ json = false }: { json?: boolean }) => {
      const socket = readEnvironment()["CONTROL_SOCKET"];
      if (!socket) throw new ConfigError(["CONTROL_SOCKET: is not set; send SIGHUP to the process instead"]);
      const { requestReload } = await import("./control-socket.ts");
      const report = reloadReport.parse(await requestReload(socket));
      if (json) outputFor(json).record(report);
      else process.stdout.write(reportLines(report));
      if (!report.ok) throw new CommandError(new ConfigError(report.problems).message);
    });
}

const reloadReport = z.object({
  ok: z.boolean(),
  problems: z.array(z.string()),
  changed: z.array(z.string()),
  need_restart: z.array(z.string()),
  version: z.number().nullable(),
  file_unused: z.string().nullable(),
}) satisfies z.ZodType<ReloadReport>;

function reportLines({ ok, changed, need_restart, version, file_unused }: ReloadReport): string {
  if (!ok) return "Nothing changed.\n";
  const lines = [
    `Reloaded. Changed: ${changed.join(", ") || "no setting"}. Configuration version ${version} is in use.`,
    ...(need_restart.length > 0 ? [`Changed, but need a restart: ${need_restart.join(", ")}.`] : []),
    ...(file_unused === null ? [] : [`TOOLGATE_CONFIG is not used: it ${file_unused}.`]),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

interface ApplyOptions {
  expect?: number;
  note?: string;
  /** ms */
  wait: number;
  json?: boolean;
}

/** Runs with the same changes of the configuration as the operations service. */
async function withAdmin<Result>(run: (admin: ConfigAdmin) => Promise<Result>): Promise<Result> {
  const { StoredConfigAdmin } = await import("../gateway/config-admin.ts");
  const environment = () => readEnvironment();
  return withPostgres(({ configVersions: versions }) =>
    run(new StoredConfigAdmin({ versions, environment })),
  );
}

/** The operator log adds the actor. */
function decisionOf({ expect: expected, note }: ApplyOptions): ConfigDecision {
  return { expected, note, actor: "" };
}

function waitOption(): Option {
  return new Option("--wait <duration>", "how long to wait for the instances; 0: not at all")
    .argParser(duration)
    .default(duration(WAIT), WAIT);
}

/** Makes a change, waits until the instances use it, and prints both. */
async function change(
  make: (admin: ConfigAdmin) => Promise<ConfigApplication>,
  { wait, json = false }: ApplyOptions,
): Promise<void> {
  const { applied, report } = await withAdmin(async (admin) => {
    const made = await make(admin);
    return { applied: made, report: await admin.awaitSwitch(made.version, wait) };
  });
  const { outcome, version: number, replaced, changes } = applied;
  const { live, behind } = report;
  if (json) {
    const instances = { instances: live, behind: behind.map(behindRecord) };
    outputFor(json).record({ version: number, outcome, changes: changes.map(changeRecord), ...instances });
  } else {
    if (outcome === "unchanged") process.stdout.write(`Version ${number} is in force: nothing to do.\n`);
    else process.stdout.write(`${planLines(replaced, changes)}Version ${number} is in force.\n`);
    process.stdout.write(switchedLines(report));
  }
  if (behind.length > 0) process.exitCode = BEHIND;
}

function switchedLines({ live, behind }: SwitchReport): string {
  if (live === 0) return "";
  if (behind.length === 0) return `${live === 1 ? "The instance uses" : `All ${live} instances use`} it.\n`;
  const lines = behind.map((one) => `- ${behindWords(one)}\n`);
  return `${behind.length} of ${live} instances do not use it; their logs say why:\n${lines.join("")}`;
}

function behindRecord({ instance, version: used }: LiveInstance) {
  return { instance, version: used ?? null };
}

function behindWords({ instance, version: used }: LiveInstance): string {
  if (used === undefined)
    return `instance ${instance} does not say what it uses: it is starting, or of an older release`;
  return `instance ${instance} uses ${used === 0 ? "its own configuration" : `version ${used}`}`;
}

/** Reads and checks a file. An invalid one exits with 1; wrong arguments and settings exit with 2. */
async function validDocument(file: string, json: boolean) {
  try {
    const { text, content } = readDocument(file);
    const { checkDocument } = await import("../gateway/config-admin.ts");
    const log = createLogger("silent", { secrets: [] });
    const { problems, warnings } = await checkDocument({ content }, readEnvironment(), log);
    if (problems.length > 0) throw new ConfigError(problems);
    return { text, warnings };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { problemsOfInvalid } = await import("../gateway/config-admin.ts");
    const problems = await problemsOfInvalid(
      error,
      readEnvironment(),
      createLogger("silent", { secrets: [] }),
    );
    if (json) outputFor(true).record({ ok: false, problems, warnings: [] });
    throw new CommandError(new ConfigError(problems).message);
  }
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
