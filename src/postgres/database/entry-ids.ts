/**
 * Entries are dated at transaction start and written later, so they can commit in another order, for the
 * length of a transaction. An entry older than this has all its predecessors.
 */
export const SETTLED_AFTER = "interval '1 minute'";

/** Sort before and after every entry. */
export const BEFORE_ALL_ENTRIES = "00000000-0000-0000-0000-000000000000";
export const AFTER_ALL_ENTRIES = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/**
 * Tolerated difference between instance clocks (identifiers of runs) and the database clock (timestamps), ms.
 * It only narrows a search; the database time decides.
 */
const CLOCK_SLACK_MS = 3_600_000;

/** Identifiers of a time span. */
export interface IdRange {
  /** Inclusive. */
  low: string;
  /** Exclusive. */
  high: string;
}

/** The ids of the entries and receipts of a span: exact, as these begin with their time (ledger_time). */
export function entryRange(from: Date | undefined, to: Date | undefined): IdRange {
  return {
    low: from ? uuidAt(from.getTime()) : BEFORE_ALL_ENTRIES,
    high: to ? uuidAt(to.getTime()) : AFTER_ALL_ENTRIES,
  };
}

/** The ids (UUIDv7) that instances gave in a span, with the clock tolerance. */
export function uuidRange(from: Date | undefined, to: Date | undefined): IdRange {
  return {
    low: from ? uuidAt(from.getTime() - CLOCK_SLACK_MS) : BEFORE_ALL_ENTRIES,
    high: to ? uuidAt(to.getTime() + CLOCK_SLACK_MS) : AFTER_ALL_ENTRIES,
  };
}

/** The first id (UUIDv7) of a millisecond. */
export function uuidAt(ms: number): string {
  const hex = Math.min(Math.max(ms, 0), 2 ** 48 - 1)
    .toString(16)
    .padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** Sorts after every text with the given prefix, byte by byte: no character is greater. */
export const AFTER = "\u{10ffff}";

/** How far clocks may differ, and how long after its request or quote a run is looked for, ms. */
export const [BEFORE_MS, AFTER_MS] = [300_000, 3_600_000];

/** The least UUIDv7 before the first time and after the last, ms. */
export function idsAround(first: number, last = first): [string, string] {
  const idAt = (time: number) => Math.max(0, time).toString(16).padStart(12, "0").padEnd(32, "0");
  return [idAt(first - BEFORE_MS), idAt(last + AFTER_MS)];
}
