import type { Span } from "../../app/statement-ports.ts";
import { invalidField } from "../../domain/errors.ts";

/** A file that an account's owner may save. */
export interface ExportFile {
  /** Where it is. */
  readonly path: string;
  /** What may be asked of it, in the address. */
  readonly parameters: readonly string[];
  /**
   * Its name and its text, in parts that are read when they are asked for.
   * @throws ToolgateError INVALID_REQUEST for parameters that mean nothing; whatever the ports throw
   */
  open(accountId: string, parameters: ExportParameters): Promise<OpenedFile>;
}

/** A file for one caller. */
export interface OpenedFile {
  readonly name: string;
  readonly parts: AsyncIterable<string>;
}

/** By name; each at most once. */
export type ExportParameters = ReadonlyMap<string, string>;

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/**
 * The parameters of an address.
 * @throws ToolgateError INVALID_REQUEST for one that the file does not know, and for one that is there twice
 */
export function parametersOf(search: string, known: readonly string[]): ExportParameters {
  const found = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(search)) {
    if (!known.includes(name))
      throw invalidField(name, `is not a parameter here; there are ${known.join(", ")}`);
    if (found.has(name)) throw invalidField(name, "must be there once");
    found.set(name, value);
  }
  return found;
}

/** The first moment of a day, UTC. @throws ToolgateError INVALID_REQUEST */
export function dateOf(parameters: ExportParameters, name: string): Date | undefined {
  const text = parameters.get(name);
  if (text === undefined) return undefined;
  const date = new Date(`${text}T00:00:00Z`);
  // 30 February is the 2nd of March to some.
  if (!DAY.test(text) || Number.isNaN(date.getTime()) || dayOf(date) !== text) {
    throw invalidField(name, "must be a day as YYYY-MM-DD, UTC");
  }
  return date;
}

/** @throws ToolgateError INVALID_REQUEST for a span without a day */
export function spanOf(from: Date | undefined, to: Date | undefined): Span {
  if (from && to && to <= from)
    throw invalidField("to", "must be after from; it is the first day that is left out");
  return { from, to };
}

/** The span as a part of a file's name. */
export function spanWords({ from, to }: Span): string {
  return `${from ? `-from-${dayOf(from)}` : ""}${to ? `-to-${dayOf(to)}` : ""}`;
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}
