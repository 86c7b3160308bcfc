import { invalidField } from "../../domain/core/errors.ts";
import type { HistoryFilter } from "../../app/calls/history.ts";
import type { Page } from "../../domain/core/page.ts";
import { uuidRange } from "./entry-ids.ts";
import { uuidFromId } from "./row-mapping.ts";

type ListName = keyof typeof NEWEST;

/**
 * Sorts after every key of its list: a UUID, a signature (suspense), a number (config), or microseconds and a
 * signature (failed payments).
 */
const NEWEST = {
  receipts: "f".repeat(32),
  runs: "f".repeat(32),
  requests: "f".repeat(32),
  suspense: "f".repeat(128),
  accounts: "f".repeat(32),
  actions: "f".repeat(32),
  attempts: "f".repeat(32),
  deposits: "f".repeat(32),
  config: "f".repeat(8),
  failed: "f".repeat(13 + 128),
};

/** Returns an opaque cursor for the rows after (older than) the row with this hex key. */
function cursorAfter(list: ListName, key: string): string {
  return Buffer.from(`${list}:${key.replaceAll("-", "")}`).toString("base64url");
}

/**
 * Returns the hex key to continue after; without a cursor, one that sorts after every key.
 * @throws ToolgateError INVALID_REQUEST for a cursor of another list
 */
export function readCursor(list: ListName, cursor: string | undefined): string {
  if (cursor === undefined) return NEWEST[list];
  const key = /^[a-z]+:([0-9a-f]+)$/.exec(Buffer.from(cursor, "base64url").toString())?.[1];
  if (key?.length !== NEWEST[list].length || cursorAfter(list, key) !== cursor) {
    throw invalidField("cursor", "is not one of this list; send next_cursor of the page before, unchanged");
  }
  return key;
}

/** Maximum rows that a filtered page scans, so that rare matches do not make it slow. */
export const SCAN_LIMIT = 2_000;

/*
 * Pages follow the index on (account_id, id), compared and ordered as a row: `(account_id, id) < ($1, $2) and
 * account_id >= $1`. With `account_id = $1`, PostgreSQL would walk the primary key for accounts that own a
 * large share of the rows, and read the rows of all others too.
 */

/**
 * Account $1 and cursor $2 in those conditions. The planner must not see their values: for the first and last
 * accounts, and near the end, it expects few rows then, and reads and sorts all that there are.
 */
export const [PAGE_ACCOUNT, PAGE_BEFORE] = ["(select $1::uuid)", "(select $2::uuid)"];

/** Maximum rows of a page, and the one that says whether more follow. */
const MAX_ROWS = 101;

/**
 * The first $3 rows of an ordered statement. Its own limit is a constant: if a parameter were the only one,
 * PostgreSQL would expect to read a tenth of all rows, and plan each page again, which takes longer than to
 * read it.
 */
export function firstRows(statement: string): string {
  return `select * from (${statement} limit ${MAX_ROWS}) page limit $3`;
}

/** @throws RangeError for a page that {@link firstRows} would cut off; filtered pages may be longer */
export function requirePage(limit: number, filter: HistoryFilter | undefined): void {
  if (filter === undefined && limit >= MAX_ROWS)
    throw new RangeError("a page without a filter has at most 100 rows");
}

/** A row of a filtered page, or nulls on an empty page, with the last scanned row if more may follow. */
export type FilteredRow<Row extends { id: string }> = (Row | { id: null }) & { stopped_at: string | null };

/**
 * The outcome of a run, a {@link CallOutcome} in SQL; null while it is active. `run` names its row: status
 * and outcome.
 */
export const OUTCOME = /* sql */ `
  case run.status
    when 'active' then null
    when 'completed' then
      case when run.outcome like '%_limit' then 'limit' else coalesce(run.outcome, 'succeeded') end
    else run.status end`;

/** Parameters after account, cursor and limit: tool, key, time span, identifier range, outcome, model. */
export function filterValues({ tool, keyId, from, to, outcome, model }: HistoryFilter): unknown[] {
  const { low, high } = uuidRange(from, to);
  const key = keyId === undefined ? undefined : uuidFromId("key", keyId);
  return [tool, key, from ?? "-infinity", to ?? "infinity", low, high, outcome, model];
}

/** {@link keyedPageOf} of rows by their identifier. */
export function pageOf<Row extends { id: string }, Item>(
  list: ListName,
  limit: number,
  rows: readonly Row[],
  itemOf: (row: Row) => Item,
  stoppedAt?: string | null,
): Page<Item> {
  return keyedPageOf(list, limit, rows, itemOf, ({ id }) => id, stoppedAt);
}

/** A page of the first `limit` rows. The next one continues after them, or where the scan stopped. */
export function keyedPageOf<Row, Item>(
  list: ListName,
  limit: number,
  rows: readonly Row[],
  itemOf: (row: Row) => Item,
  keyOf: (row: Row) => string,
  stoppedAt?: string | null,
): Page<Item> {
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.map(keyOf).at(-1) : stoppedAt;
  return { items: shown.map(itemOf), nextCursor: last ? cursorAfter(list, last) : undefined };
}

/** {@link pageOf} for a filtered list. */
export function filteredPageOf<Row extends { id: string }, Item>(
  list: ListName,
  limit: number,
  rows: readonly FilteredRow<Row>[],
  itemOf: (row: Row) => Item,
): Page<Item> {
  const found = rows.filter((row) => row.id !== null);
  return pageOf(list, limit, found, itemOf, rows[0]?.stopped_at);
}
