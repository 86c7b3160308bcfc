import { compareSeals } from "../app/operations/logged-seals.ts";
import type { Postgres } from "../postgres/index.ts";
import { CommandError } from "./command.ts";
import { type OperatorLog, readOperatorLog, readRequestLog } from "./log-files.ts";

/** One line of the audit report. */
interface LogFinding {
  readonly invariant: string;
  readonly checked: bigint;
  readonly violations: bigint;
  readonly description: string;
}

/**
 * Compares files of OPERATOR_LOG, and logs of gateways among them, with the database: what a superuser of the
 * database cannot change.
 * @throws CommandError for a file that cannot be read, and without any seal
 */
export async function logFindings(postgres: Postgres, files: readonly string[]): Promise<LogFinding[]> {
  const log = await readOperatorLog(files);
  if (!log.seals.some((line) => "number" in line))
    throw new CommandError(
      `No seal is in ${files.join(", ")}: give the files of OPERATOR_LOG, rotated ones too. Audits write a ` +
        "seal to it after the first that finds no violation.",
    );
  return [
    await sealsFinding(postgres, log),
    await actionsFinding(postgres, log),
    ...(await chargesFindings(postgres, log, files)),
  ];
}

async function sealsFinding(postgres: Postgres, { seals }: OperatorLog): Promise<LogFinding> {
  const stored = await postgres.seals();
  const { checked, problems } = compareSeals(seals, stored);
  const newest = Math.max(...seals.map((line) => ("number" in line ? line.number : 0)));
  const later = stored.filter(({ number }) => number > newest).length;
  const unknown = later > 0 ? [`the log has none of the last ${later}`] : [];
  return {
    invariant: "logged_seals",
    checked: BigInt(checked),
    violations: BigInt(problems.length),
    description: ["the seals of the log are those of the database", ...unknown, ...problems].join("; "),
  };
}

async function actionsFinding(
  { restores }: Postgres,
  { actions, restoredAt = "" }: OperatorLog,
): Promise<LogFinding> {
  const expected = [...actions].filter(([, { at }]) => at > restoredAt).map(([id]) => id);
  const gone = await restores.missingActions(expected);
  return {
    invariant: "logged_actions",
    ...missing(expected.length, "the operators' actions of the log are in the database", gone),
  };
}

/** A line if a gateway's log is among the files. */
async function chargesFindings(
  { restores }: Postgres,
  { restoredAt = "" }: OperatorLog,
  files: readonly string[],
): Promise<LogFinding[]> {
  let checked = 0;
  const gone: string[] = [];
  for await (const charges of readRequestLog(files)) {
    const expected = [...charges].filter(([, { time = "" }]) => time >= restoredAt).map(([id]) => id);
    checked += expected.length;
    gone.push(...(await restores.missingReceipts(expected)));
  }
  const found = missing(checked, "the charges of the log have their receipts", gone);
  return checked === 0 ? [] : [{ invariant: "logged_charges", ...found }];
}

function missing(checked: number, holds: string, gone: readonly string[]): Omit<LogFinding, "invariant"> {
  const more = gone.length > 3 ? ` and ${gone.length - 3} more` : "";
  const listed = gone.length === 0 ? "" : `; not ${gone.slice(0, 3).join(", ")}${more}`;
  return { checked: BigInt(checked), violations: BigInt(gone.length), description: holds + listed };
}
