import type { HistoryFilter, Page } from "../app/ports.ts";
import { cursorAfter, type ListName } from "./cursor.ts";
import { uuidRange } from "./ledger-time.ts";
import { uuidFromId } from "./row-mapping.ts";

/** Rows that a page of a filtered list looks at: few enough for an answer at once, however rare what is asked for. */
export const SCAN_LIMIT = 2_000;

/*
 * Pages are found along the index of the account and the identifier, whatever is known of the account: both are compared and ordered by as a
 * whole, `(account_id, id) < ($1, $2) and account_id >= $1`. With an account that is equal to $1, an order by the identifier alone would do. Of an
 * account that has a good part of all rows, PostgreSQL would then look for the next ones among all rows from the newest on, and read
 * whatever others have had since.
 */

/** A row of a filtered page, or, on an empty one, none; and the last row that was looked at, if there may be more after it. */
export type FilteredRow<Row extends { id: string }> = (Row | { id: null }) & { stopped_at: string | null };

/** The parameters of a filtered list's statement that follow account, place and limit: tool, key, span, and the identifiers to look among. */
export function filterValues({ tool, keyId, from, to }: HistoryFilter): unknown[] {
  const { low, high } = uuidRange(from, to);
  const key = keyId === undefined ? undefined : uuidFromId("key", keyId);
  return [tool, key, from ?? "-infinity", to ?? "infinity", low, high];
}

/** The page that shows the first `limit` of the rows; the one after it begins where they end, or where looking for more ended. */
export function pageOf<Row extends { id: string }, Item>(
  list: ListName,
  limit: number,
  rows: readonly Row[],
  itemOf: (row: Row) => Item,
  stoppedAt?: string | null,
): Page<Item> {
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1)?.id : stoppedAt;
  return { items: shown.map(itemOf), nextCursor: last ? cursorAfter(list, last) : undefined };
}

/** {@link pageOf} a filtered list. */
export function filteredPageOf<Row extends { id: string }, Item>(
  list: ListName,
  limit: number,
  rows: readonly FilteredRow<Row>[],
  itemOf: (row: Row) => Item,
): Page<Item> {
  const found = rows.filter((row) => row.id !== null);
  return pageOf(list, limit, found, itemOf, rows[0]?.stopped_at);
}
