import type { Pool, QueryConfig } from "pg";
import { queryWithRetry } from "../database/retry.ts";
import type {
  ArchivedRow,
  ArchivedTable,
  AccountRange,
  MonthArchive,
} from "../../app/operations/archive/month-archive.ts";
import type { Clock } from "../../domain/core/clock.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { AFTER_ALL_ENTRIES, BEFORE_ALL_ENTRIES, uuidRange } from "../database/entry-ids.ts";
import type { HistoryFilter } from "../../app/calls/history.ts";

/** An archived month of one account. Ids are UUIDs. */
export interface AccountMonth {
  readonly month: string;
  readonly manifest: string;
  /** Bounds of the ids of its runs: from the first, below the second. */
  readonly low: string;
  readonly high: string;
  /** Its first and last receipt; null: it has none. */
  readonly first: string | null;
  readonly last: string | null;
  /** Micro-USD. */
  readonly charged: string;
}

/** The archived months of account $1 as a JSON list, newest first; null: there is none. */
const ACCOUNT_MONTHS = /* sql */ `(
  select json_agg(json_build_object('month', to_char(month, 'YYYY-MM'),
    'manifest', encode(archive_month.manifest, 'hex'), 'low', archive_month.low, 'high', archive_month.high,
    'first', used.first, 'last', used.last, 'charged', used.charged::text) order by month desc)
  from (
    select month, min(first_receipt::text) as first, max(last_receipt::text) as last,
      sum(charged) as charged
    from archive_use where account_id = $1 group by month
  ) used join archive_month using (month))`;

/** Adds the archived months of account $1 to each row of a page, and a row of them to an empty page. */
export function withMonths(page: string): string {
  return /* sql */ `
    select archived.months as archived_months, page.*
    from (select ${ACCOUNT_MONTHS} as months) archived left join (${page}) page on true`;
}

/** A row of {@link withMonths}. */
export interface WithMonths {
  archived_months: readonly AccountMonth[] | null;
}

/** The archived months of an account (a UUID), newest first. */
export async function accountMonths(
  client: Pick<Pool, "query">,
  account: string,
): Promise<readonly AccountMonth[]> {
  const text = `select ${ACCOUNT_MONTHS} as archived_months`;
  const { rows } = await client.query<WithMonths>({ name: "archived-months", text, values: [account] });
  return rows[0]?.archived_months ?? [];
}

/** The archived month whose receipts are of the time of this one; undefined: there is none. */
export async function archivedMonthOf(pool: Pool, receipt: string): Promise<string | undefined> {
  const rows = await queryWithRetry<{ month: string }>(pool, {
    name: "archived-receipt",
    text: `select to_char(month, 'YYYY-MM') as month from archive_month
      where $1 between first_receipt and last_receipt order by 1 limit 1`,
    values: [receipt],
  });
  return rows[0]?.month;
}

/** A UUID as PostgreSQL writes it, from 32 hex digits. */
export function dashed(hex: string): string {
  return hex.replaceAll("-", "").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** Archived rows that a statement reads beside the tables. */
export interface LoadedRows {
  readonly runs: readonly ArchivedRow[];
  readonly receipts: readonly ArchivedRow[];
}

const viewTexts = new WeakMap<object, Promise<string>>();

/**
 * Runs a statement that finds the archived rows in `run`, `receipt` and `issued_receipt`, as if they had
 * never left the tables. Rows of months that are back in the tables count once.
 * @param only leaves out what is in the tables
 */
export async function queryBeside<Row extends object>(
  client: Pick<Pool, "query">,
  query: QueryConfig,
  { runs, receipts }: LoadedRows,
  { only = false }: { only?: boolean } = {},
): Promise<Row[]> {
  const values: unknown[] = query.values ?? [];
  const view = await viewText(client);
  const beside = (table: "run" | "receipt", id: string, parameter: number) => /* sql */ `
    archived_${table} as materialized (
      select loaded.* from json_populate_recordset(null::public.${table}, $${parameter}) loaded
      where exists (
        select from public.archive_month where loaded.${id} >= low and loaded.${id} < high)
    ), ${table} as not materialized (
      ${only ? "" : `select * from public.${table} union all`} select * from archived_${table})`;
  const text = `with ${beside("run", "id", values.length + 1)},
    ${beside("receipt", "run_id", values.length + 2)},
    issued_receipt as not materialized (${view})
    select * from (${query.text}) answer`;
  const loaded = [JSON.stringify(runs), JSON.stringify(receipts)];
  return (await client.query<Row>({ text, values: [...values, ...loaded] })).rows;
}

/** The definition of the view `issued_receipt`, without names of schemas. */
function viewText(client: Pick<Pool, "query">): Promise<string> {
  const known = viewTexts.get(client);
  if (known) return known;
  const text = client
    .query<{ text: string }>("select pg_get_viewdef('public.issued_receipt'::regclass) as text")
    .then(({ rows }) => (rows[0]?.text ?? "").replace(/;\s*$/, ""));
  viewTexts.set(client, text);
  text.catch(() => viewTexts.delete(client));
  return text;
}

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
