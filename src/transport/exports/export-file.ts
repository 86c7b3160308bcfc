import type { Span } from "../../app/accounts/statements.ts";
import { invalidField } from "../../domain/core/errors.ts";

export interface ExportFile {
  readonly path: string;
  /** Names of the accepted query parameters. */
  readonly parameters: readonly string[];
  /** Returns name and text, in chunks read on demand. @throws ToolgateError INVALID_REQUEST */
  open(accountId: string, parameters: ExportParameters): Promise<OpenedFile>;
}

export interface OpenedFile {
  readonly name: string;
  readonly parts: AsyncIterable<string>;
}

/** Parameters by name; no repeats. */
export type ExportParameters = ReadonlyMap<string, string>;

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Parses a query string. @throws ToolgateError INVALID_REQUEST for unknown or repeated parameters */
export function parametersOf(search: string, known: readonly string[]): ExportParameters {
  const found = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(search)) {
    if (!known.includes(name)) throw invalidField(name, `is not a parameter; use ${known.join(", ")}`);
    if (found.has(name)) throw invalidField(name, "must appear once");
    found.set(name, value);
  }
  return found;
}

/** Returns midnight UTC of a date parameter. @throws ToolgateError INVALID_REQUEST */
export function dateOf(parameters: ExportParameters, name: string): Date | undefined {
  const text = parameters.get(name);
  if (text === undefined) return undefined;
  const date = new Date(`${text}T00:00:00Z`);
  // Date turns 30 February into 2 March.
  if (!DAY.test(text) || Number.isNaN(date.getTime()) || dayOf(date) !== text) {
    throw invalidField(name, "must be a day as YYYY-MM-DD, UTC");
  }
  return date;
}

/** @throws ToolgateError INVALID_REQUEST for an empty date range */
export function spanOf(from: Date | undefined, to: Date | undefined): Span {
  if (from && to && to <= from) throw invalidField("to", "must be after from; the range excludes this day");
  return { from, to };
}

export function spanWords({ from, to }: Span): string {
  return `${from ? `-from-${dayOf(from)}` : ""}${to ? `-to-${dayOf(to)}` : ""}`;
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}
