import type { ArchivedRow, ArchivedTable } from "../../app/operations/archive/archived-tables.ts";
import type { AccountRange, MonthArchive } from "../../app/operations/archive/month-archive.ts";
import type { Clock } from "../../domain/core/clock.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { AFTER_ALL_ENTRIES, BEFORE_ALL_ENTRIES } from "../database/entry-ids.ts";
import { dashed, type AccountMonth } from "./account-months.ts";
import type { LoadedRows } from "./beside-tables.ts";

/** Two full months stay in the tables. */
const YOUNGEST_MS = 59 * 86_400_000;

/** Ids of rows, both included, and how many are wanted. */
export interface WantedRows {
  readonly table: ArchivedTable;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly order: AccountRange["order"];
  readonly count: number;
}

/** Reads the archived rows of accounts. */
export class ArchivedRows {
  readonly #archive: MonthArchive | undefined;

  /** @param archive undefined: ARCHIVE_URL is not set */
  constructor(archive: MonthArchive | undefined) {
    this.#archive = archive;
  }

  /** Whether a run (`run_…`) is so old that it can be archived. */
  static isOld(runId: string, clock: Clock): boolean {
    return Number.parseInt(runId.slice("run_".length).slice(0, 12), 16) < clock.now() - YOUNGEST_MS;
  }

  /** Months with rows of these ids. */
  static reaching(
    months: readonly AccountMonth[],
    { table, from = BEFORE_ALL_ENTRIES, to = AFTER_ALL_ENTRIES }: Pick<WantedRows, "table" | "from" | "to">,
  ): AccountMonth[] {
    return months.filter(({ low, high, first, last }) =>
      table === "run"
        ? low <= to && high > from
        : first !== null && last !== null && first <= to && last >= from,
    );
  }

  /**
   * Returns the first rows of an account in the wanted order, with the runs of receipts and the receipts of
   * runs.
   * @throws ToolgateError UNAVAILABLE, naming the month, when it cannot be read
   */
  async load(account: string, months: readonly AccountMonth[], wanted: WantedRows): Promise<LoadedRows> {
    const { table, from = BEFORE_ALL_ENTRIES, to = AFTER_ALL_ENTRIES, order, count } = wanted;
    const [runs, receipts] = [new Map<string, ArchivedRow>(), new Map<string, ArchivedRow>()];
    const reached = ArchivedRows.reaching(months, wanted);
    for (const month of order === "newest" ? reached : reached.toReversed()) {
      if (isEnough([...(table === "run" ? runs : receipts).keys()], month, wanted)) break;
      const found = await this.#first(month, table, { account, from, to, order }, count);
      const others = await this.#others(month, table, account, found);
      for (const row of table === "run" ? found : others) runs.set(row["id"] ?? "", row);
      for (const row of table === "receipt" ? found : others) receipts.set(row["id"] ?? "", row);
    }
    return { runs: [...runs.values()], receipts: [...receipts.values()] };
  }

  /** All rows of an account with these ids, in batches. */
  async *all(
    account: string,
    months: readonly AccountMonth[],
    wanted: Pick<WantedRows, "table" | "from" | "to">,
  ): AsyncGenerator<LoadedRows> {
    const { table, from = BEFORE_ALL_ENTRIES, to = AFTER_ALL_ENTRIES } = wanted;
    for (const month of ArchivedRows.reaching(months, wanted)) {
      for await (const rows of this.#rows(month, table, { account, from, to, order: "oldest" })) {
        const others = await this.#others(month, table, account, rows);
        yield table === "run" ? { runs: rows, receipts: others } : { runs: others, receipts: rows };
      }
    }
  }

  /** Loads runs by their ids, and their receipts. */
  async runs(account: string, months: readonly AccountMonth[], ids: readonly string[]): Promise<LoadedRows> {
    const loaded: LoadedRows[] = [];
    for (const id of ids) {
      const wanted = { table: "run", from: id, to: id, order: "oldest", count: 1 } as const;
      loaded.push(await this.load(account, months, wanted));
    }
    return merged(loaded);
  }

  async #first(
    month: AccountMonth,
    table: ArchivedTable,
    range: AccountRange,
    count: number,
  ): Promise<ArchivedRow[]> {
    const found: ArchivedRow[] = [];
    for await (const rows of this.#rows(month, table, range)) {
      found.push(...rows.slice(0, count - found.length));
      if (found.length === count) break;
    }
    return found;
  }

  /** The receipts of runs, or the runs of receipts. They are in the same month. */
  async #others(
    month: AccountMonth,
    table: ArchivedTable,
    account: string,
    rows: readonly ArchivedRow[],
  ): Promise<ArchivedRow[]> {
    const [other, key] =
      table === "run" ? (["receipt", "receipt_id"] as const) : (["run", "run_id"] as const);
    const ids = new Set(rows.flatMap((row) => row[key] ?? []));
    const sorted = [...ids].toSorted();
    const [from, to] = [sorted[0], sorted.at(-1)];
    const found: ArchivedRow[] = [];
    if (from === undefined || to === undefined) return found;
    for await (const batch of this.#rows(month, other, { account, from, to, order: "oldest" }))
      found.push(...batch.filter((row) => ids.has(row["id"] ?? "")));
    return found;
  }

  #rows({ month, manifest }: AccountMonth, table: ArchivedTable, range: AccountRange) {
    const dashedRange = { ...range, account: dashed(range.account) };
    if (this.#archive) return this.#archive.rowsOf({ month, manifest }, table, dashedRange);
    throw new ToolgateError("UNAVAILABLE", `the archived month ${month} cannot be used; try again later`, {
      cause: new Error("ARCHIVE_URL is not set"),
    });
  }
}

/** Whether the wanted rows are all before those of the next month. */
function isEnough(ids: readonly string[], month: AccountMonth, { table, order, count }: WantedRows): boolean {
  const sorted = ids.toSorted();
  const last = order === "newest" ? sorted.at(-count) : sorted[count - 1];
  if (last === undefined || ids.length < count) return false;
  const [first, end] = table === "run" ? [month.low, month.high] : [month.first ?? "", month.last ?? ""];
  return order === "newest" ? last > end : last < first;
}

/** Each row once. */
export function merged(loaded: readonly LoadedRows[]): LoadedRows {
  const once = (rows: readonly ArchivedRow[]) => [...new Map(rows.map((row) => [row["id"], row])).values()];
  return {
    runs: once(loaded.flatMap(({ runs }) => runs)),
    receipts: once(loaded.flatMap(({ receipts }) => receipts)),
  };
}
