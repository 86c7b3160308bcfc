import type { ArchivedTable } from "../../app/operations/archive/archived-tables.ts";
import type { HistoryFilter } from "../../app/calls/history.ts";
import { uuidRange } from "../database/entry-ids.ts";
import { dashed, type AccountMonth, type WithMonths } from "./account-months.ts";
import { ArchivedRows } from "./archived-rows.ts";
import type { LoadedRows } from "./beside-tables.ts";

/** A page that was read from the tables alone, newest first. */
interface TablesPage {
  readonly table: ArchivedTable;
  /** A UUID. */
  readonly account: string;
  /** Its rows, and the archived months of the account. */
  readonly rows: readonly (WithMonths & { id: string | null; stopped_at?: string | null })[];
  /** The cursor: 32 hex digits. */
  readonly before: string;
  readonly limit: number;
  readonly filter: HistoryFilter | undefined;
  /** How many rows the page may have to look at. */
  readonly looksAt: number;
}

/**
 * Returns the archived rows that belong on the page or were to be looked at for it; undefined: none.
 * @throws ToolgateError UNAVAILABLE, naming the month, when it cannot be read
 */
export async function archivedRowsOf(
  archived: ArchivedRows,
  { table, account, rows, before, limit, filter, looksAt }: TablesPage,
): Promise<LoadedRows | undefined> {
  const months: readonly AccountMonth[] = rows[0]?.archived_months ?? [];
  if (months.length === 0) return undefined;
  const { low, high } = uuidRange(filter?.from, filter?.to);
  // The tables' rows reach down to here; older ones are for the next page.
  const end = rows.length > limit ? rows.at(-1)?.id : rows[0]?.stopped_at;
  const from = greater(end ?? low, low);
  const to = dashed(before) < high ? dashed(before) : high;
  const wanted = { table, from, to, order: "newest", count: looksAt + 1 } as const;
  const reached = ArchivedRows.reaching(months, wanted);
  return reached.length === 0 ? undefined : archived.load(account, reached, wanted);
}

function greater(one: string, other: string): string {
  return one > other ? one : other;
}
