import type { Pool, PoolClient } from "pg";
import type { Span, StatementExport, StatementRow } from "../../app/accounts/statements.ts";
import {
  ENTRIES_SUM,
  ENTRIES_TOTAL,
  EXPORT_NAMED,
  EXPORT_PAGE,
  EXPORT_UNSETTLED,
  SETTLED_ENTRY,
  statementRowOf,
  type ExportRow,
  archivedCharges,
  entriesBeside,
} from "./entries.ts";
import { accountMonths, withMonths } from "../archived/archived-rows.ts";
import type { AccountMonth, WithMonths, ArchivedRows } from "../archived/archived-rows.ts";
import { AFTER_ALL_ENTRIES, BEFORE_ALL_ENTRIES, entryRange, type IdRange } from "../database/entry-ids.ts";
import { withRetry, RETRY_MS } from "../database/retry.ts";
import { inSnapshot } from "../database/pool.ts";
import { AccountQueue } from "./account-queue.ts";

/** Rows per page, buffered until the reader takes them. */
const PAGE = 500;

/** Query timeout for the opening balance and for a page, ms. */
const QUERY_MS = 60_000;

interface Bounds extends IdRange {
  readonly account: string;
  /** The newest entry that can get no more predecessors. */
  readonly settled: string;
  /** Later entries that existed at the start. */
  readonly unsettled: readonly string[];
}

/**
 * Exports whole statements as of the start of the export. Entries are immutable, so a list of their
 * identifiers suffices; no transaction or connection waits for the reader.
 */
export class StatementExports {
  readonly #pool: Pool;
  /** Opening balances sum the whole history. */
  readonly #archived: ArchivedRows;
  readonly #queue = new AccountQueue();

  constructor(pool: Pool, archived: ArchivedRows) {
    this.#pool = pool;
    this.#archived = archived;
  }

  async export(account: string, span: Span): Promise<StatementExport> {
    const { opening, bounds } = await this.#queue.run(account, () =>
      inSnapshot(this.#pool, async (client) => {
        await client.query(`set local statement_timeout = ${QUERY_MS}`);
        const months = await accountMonths(client, account);
        return {
          opening: await this.#openingOf(client, account, months, span.from),
          bounds: await boundsOf(client, account, months, span),
        };
      }),
    );
    return { opening, rows: rowsFrom(this.#pagesOf(bounds), opening?.balance ?? 0n) };
  }

  /** The balance at the start of a span: the total minus all later entries. */
  async #openingOf(
    client: PoolClient,
    account: string,
    months: readonly AccountMonth[],
    from: Date | undefined,
  ): Promise<StatementExport["opening"]> {
    if (!from) return undefined;
    const { low, high } = entryRange(from, undefined);
    const total = await client.query<{ available: bigint; held: bigint }>(ENTRIES_TOTAL, [account]);
    const sum = { text: ENTRIES_SUM, values: [account, low, high], query_timeout: QUERY_MS };
    const since = await client.query<{ amount: bigint }>(sum);
    const [now] = total.rows;
    const charged = await archivedCharges(this.#archived, account, months, low);
    const later = (since.rows[0]?.amount ?? 0n) - charged;
    const balance = (now?.available ?? 0n) + (now?.held ?? 0n) - later;
    return { time: from.toISOString(), balance };
  }

  async *#pagesOf(bounds: Bounds): AsyncGenerator<readonly ExportRow[]> {
    const { account, low, high, settled, unsettled } = bounds;
    const end = high < settled ? high : settled;
    for (let after: string | undefined = low; after !== undefined;) {
      const rows: readonly ExportRow[] = await this.#page(account, after, end);
      yield rows;
      after = rows.length === PAGE ? rows.at(-1)?.id : undefined;
    }
    for (let next = 0; next < unsettled.length; next += PAGE)
      yield await pageOf(this.#pool, EXPORT_NAMED, [account, unsettled.slice(next, next + PAGE)]);
  }

  async #page(account: string, after: string, end: string): Promise<readonly ExportRow[]> {
    const query = { text: EXPORT_PAGE, values: [account, after, end, PAGE] };
    const rows = await pageOf<WithMonths & (ExportRow | { id: null })>(
      this.#pool,
      withMonths(query.text),
      query.values,
    );
    const months = rows[0]?.archived_months ?? [];
    const found = rows.filter((row): row is WithMonths & ExportRow => row.id !== null);
    if (months.length === 0) return found;
    const to = (found.length === PAGE ? found.at(-1)?.id : undefined) ?? end;
    const wanted = { from: after, to, order: "oldest", count: PAGE + 1 } as const;
    return entriesBeside(this.#pool, query, { archived: this.#archived, account, months, wanted });
  }
}

async function boundsOf(
  client: PoolClient,
  account: string,
  months: readonly AccountMonth[],
  span: Span,
): Promise<Bounds> {
  const { low, high } = entryRange(span.from, span.to);
  const newest = await client.query<{ id: string }>(SETTLED_ENTRY, [account, AFTER_ALL_ENTRIES]);
  // Archived runs are always settled.
  const last = months.flatMap((month) => month.last ?? []);
  const settled = [newest.rows[0]?.id ?? BEFORE_ALL_ENTRIES, ...last].toSorted().at(-1) ?? BEFORE_ALL_ENTRIES;
  const after = low > settled ? low : settled;
  const { rows } = await client.query<{ id: string }>(EXPORT_UNSETTLED, [account, after, high]);
  return { account, low, high, settled, unsettled: rows.map(({ id }) => id) };
}

async function* rowsFrom(
  pages: AsyncIterable<readonly ExportRow[]>,
  opening: bigint,
): AsyncGenerator<readonly StatementRow[]> {
  let balance = opening;
  for await (const rows of pages) yield rows.map((row) => statementRowOf(row, (balance += row.amount)));
}

/** Releases its connection before the reader receives the page. */
function pageOf<Row extends object = ExportRow>(pool: Pool, text: string, values: unknown[]): Promise<Row[]> {
  return withRetry(RETRY_MS, async () => (await pool.query<Row>({ text, values })).rows);
}
