import type { Seal } from "./audit.ts";

/** A line of the operator log: a seal, or a restore of the database, which ends seals after `lastSeal`. */
export type LoggedSeal = { readonly at: string } & (Seal | { readonly lastSeal: number });

export interface SealComparison {
  /** Seals of the log. */
  readonly checked: number;
  /** What is wrong, and where. */
  readonly problems: readonly string[];
}

/**
 * Compares the seals of the log with those of the database. A seal's hash continues that of the seal before:
 * of seals that differ the first one says where the change is, and one that is equal proves all before it.
 * @param stored in the order of their numbers
 */
export function compareSeals(logged: readonly LoggedSeal[], stored: readonly Seal[]): SealComparison {
  const known = sealsOf(logged);
  const seals = new Map(stored.map((seal) => [seal.number, seal]));
  let proved = "the first one";
  for (const { number, upTo, hash, at } of known) {
    const found = seals.get(number);
    if (found?.hash !== hash) {
      const what = found ? "has another hash in the database" : "is not in the database";
      const why = found
        ? "an entry was changed, or removed, and its seal made again"
        : "it was removed, and its entries may be changed";
      const problem =
        `seal ${number}, of entries from ${proved} to ${upTo}, ${what}: ${why}; compare these entries with ` +
        `a backup of before ${at}`;
      return { checked: known.length, problems: [problem] };
    }
    proved = upTo;
  }
  return { checked: known.length, problems: [] };
}

/** The seals that the database has to have, by number. The first line of a number counts. */
function sealsOf(logged: readonly LoggedSeal[]) {
  let seals: (Seal & { readonly at: string })[] = [];
  for (const line of logged.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at))) {
    if ("lastSeal" in line) seals = seals.filter(({ number }) => number <= line.lastSeal);
    else if (seals.every(({ number }) => number !== line.number)) seals.push(line);
  }
  return seals.toSorted((a, b) => a.number - b.number);
}
