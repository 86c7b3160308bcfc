import process from "node:process";
import { InvalidArgumentError, type Command } from "commander";
import type { ArchiveMonths } from "../app/operations/archive/archive-months.ts";
import type { ArchivedMonth } from "../app/operations/archive/month-archive.ts";
import { recordedAction, type ActionName } from "../app/operations/operator-actions.ts";
import { openArchive } from "../archive/open-archive.ts";
import { ConfigError } from "../config/config.ts";
import { ToolgateError } from "../domain/core/errors.ts";
import { formatUsdc } from "../domain/core/money.ts";
import { parseMonth, type Month } from "../domain/core/month.ts";
import type { Postgres } from "../postgres/index.ts";
import { systemClock } from "../system.ts";
import { CommandError, outputFor } from "./command.ts";
import { withPostgres } from "./database.ts";
import { commandActor } from "./operator-log.ts";

interface Options {
  readonly month?: Month;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** `archive`, `archive list | verify | restore` */
export function addArchiveCommands(program: Command): void {
  const archive = program
    .command("archive")
    .description(
      "moves old months of runs and receipts to ARCHIVE_URL: writes files, reads them back, compares every " +
        "row, then drops the month; repeat it after a failure; needs the rights of migrate",
    )
    .option("--month <month>", "this month alone, such as 2026-05, if it ended two full months ago", month)
    .option("--dry-run", "only say what would be archived, and what keeps a month in the database")
    .option("--json", "print JSON lines")
    .action((options: Options) => withMonths((months, act) => archiveMonths(months, act, options)));

  archive
    .command("list")
    .description("lists archived months")
    .action(() =>
      withMonths(async (months) =>
        print(archive, (await months.list()).map(recordOf), "No month is archived."),
      ),
    );

  archive
    .command("verify")
    .description("reads the files of archived months and compares them with their seals; exits with 1")
    .argument("[month]", "this month alone", month)
    .action((asked?: Month) => withMonths((months) => verifyMonths(archive, months, asked)));

  archive
    .command("restore")
    .description("brings an archived month back into the database; its files stay")
    .argument("<month>", "such as 2026-05", month)
    .action((asked: Month) =>
      withMonths(async (months, act) => {
        await act("archive.restore", asked, () => months.restore(asked));
        print(archive, [{ month: asked, restored: true }], "");
      }),
    );
}

type Act = (name: ActionName, month: Month, work: () => Promise<void>) => Promise<void>;

async function archiveMonths(months: ArchiveMonths, act: Act, options: Options): Promise<void> {
  const { month: asked, dryRun = false, json = false } = options;
  const candidates = await months.candidates(asked);
  const output = outputFor(json);
  for (const { month: each, obstacles } of candidates) {
    const free = obstacles.length === 0;
    if (free && !dryRun) await act("archive.archive", each, () => months.archive(each));
    output.record({ month: each, archived: free && !dryRun, obstacles });
    if (!free && !dryRun) process.exitCode = 1;
  }
  if (candidates.length === 0 && !json) process.stderr.write("No month is old enough.\n");
}

async function verifyMonths(command: Command, months: ArchiveMonths, asked?: Month): Promise<void> {
  const known = (await months.list()).map(({ month: each }) => each);
  const lines: Record<string, unknown>[] = [];
  for (const each of asked === undefined ? known : [asked]) {
    const problem = await months.verify(each).then(
      () => null,
      (error: unknown) => {
        if (error instanceof ToolgateError && error.code === "UNAVAILABLE") return problemOf(error);
        throw error;
      },
    );
    if (problem !== null) process.exitCode = 1;
    lines.push({ month: each, verified: problem === null, problem });
  }
  print(command, lines, "No month is archived.");
}

/** @throws ConfigError without ARCHIVE_URL; CommandError when the archive or the database fails */
async function withMonths(run: (months: ArchiveMonths, act: Act) => Promise<void>): Promise<void> {
  const [{ ArchiveMonths: Months }, { PostgresMonths }] = await Promise.all([
    import("../app/operations/archive/archive-months.ts"),
    import("../postgres/archive/months.ts"),
  ]);
  await withPostgres(async (postgres, config) => {
    const archive = await openArchive(config);
    if (!archive)
      throw new ConfigError(["ARCHIVE_URL: is not set; it says where archived months are stored"]);
    const store = new PostgresMonths(config.DATABASE_DIRECT_URL ?? config.DATABASE_URL);
    const keptMonths = config.ARCHIVE_AFTER_MONTHS;
    try {
      await requireReconciled(postgres);
      await run(new Months({ archive, store, clock: systemClock, keptMonths }), actOf(postgres));
    } catch (error) {
      if (error instanceof ToolgateError) throw new CommandError(problemOf(error), { cause: error });
      throw error;
    } finally {
      await store.close();
    }
  });
}

function actOf({ operatorActions: actions }: Postgres): Act {
  const log = { error: (_: object, text: string) => void process.stderr.write(`${text}\n`) };
  return (name, target, work) =>
    recordedAction(
      { actions, log },
      { actor: commandActor(), name, target, details: {}, idempotencyKey: undefined },
      work,
    );
}

/** @throws CommandError while it is not known what a restored database lacks */
async function requireReconciled({ restores }: Postgres): Promise<void> {
  const restored = await restores.mark();
  if (restored && restored.reconciledAt === null)
    throw new CommandError("This database was restored from a backup: run toolgate after-restore first.");
}

function problemOf(error: ToolgateError): string {
  const { cause } = error;
  return cause instanceof Error ? `${error.message}: ${cause.message}` : error.message;
}

function print(command: Command, rows: readonly Record<string, unknown>[], nothing: string): void {
  const { json = false } = command.opts<Options>();
  if (rows.length === 0 && !json) process.stderr.write(`${nothing}\n`);
  else outputFor(json).table(rows);
}

function recordOf({ month: name, archivedAt, runs, receipts, charged, manifest }: ArchivedMonth) {
  return {
    month: name,
    archived_at: archivedAt,
    runs,
    receipts,
    charged_usdc: formatUsdc(charged),
    manifest,
  };
}

function month(text: string): Month {
  const parsed = parseMonth(text);
  if (parsed === undefined) throw new InvalidArgumentError("must be a month such as 2026-05");
  return parsed;
}
