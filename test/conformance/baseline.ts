import { readFileSync } from "node:fs";
import { isScalar, isSeq, parseDocument, type Document } from "yaml";
import { baselineFile, type Scenario, type Suite } from "./suites.ts";

/** A scenario, or one of its checks, that a tool gateway cannot pass. */
export interface ExpectedFailure {
  readonly scenario: string;
  /** Undefined: any of the scenario's checks. */
  readonly check: string | undefined;
  /** The comment of the entry. */
  readonly reason: string;
}

/**
 * Returns the expected failures of a suite: `server`, which the suite also reads, and `not_scored`.
 * @throws Error for an entry without a reason
 */
export function readBaseline(suite: Suite): ExpectedFailure[] {
  const document = parseDocument(readFileSync(baselineFile(suite), "utf8"));
  return ["server", "not_scored"].flatMap((section) => entriesOf(document, section));
}

function entriesOf(document: Document, section: string): ExpectedFailure[] {
  const list: unknown = document.get(section);
  if (!isSeq(list)) return [];
  return list.items.map((item) => {
    if (!isScalar(item) || typeof item.value !== "string")
      throw new Error(`${section}: ${String(item)} is not a name`);
    const [scenario = "", check] = item.value.split(":");
    const reason = item.comment?.trim() ?? "";
    if (reason === "") throw new Error(`${item.value}: has no reason; add it as a comment of the entry`);
    return { scenario, check, reason };
  });
}

/** Unexpected failures and warnings, as `scenario:check`. */
export function unexpectedFailures(
  scenarios: readonly Scenario[],
  expected: readonly ExpectedFailure[],
): string[] {
  return failures(scenarios)
    .filter((failure) => !expected.some((entry) => covers(entry, failure)))
    .map(({ scenario, check, message }) => `${scenario}:${check} ${message}`);
}

/** Entries that no longer fail. */
export function staleEntries(
  scenarios: readonly Scenario[],
  expected: readonly ExpectedFailure[],
): ExpectedFailure[] {
  const all = failures(scenarios);
  return expected.filter((entry) => !all.some((failure) => covers(entry, failure)));
}

interface Failure {
  readonly scenario: string;
  readonly check: string;
  readonly message: string;
}

function failures(scenarios: readonly Scenario[]): Failure[] {
  return scenarios.flatMap(({ name, checks }) =>
    checks
      .filter(({ status }) => status === "FAILURE" || status === "WARNING")
      .map(({ id, errorMessage = "" }) => ({ scenario: name, check: id, message: errorMessage })),
  );
}

function covers({ scenario, check }: ExpectedFailure, failure: Failure): boolean {
  return scenario === failure.scenario && (check === undefined || check === failure.check);
}
