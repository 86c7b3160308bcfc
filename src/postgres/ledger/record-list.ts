import type { Pool } from "pg";
import type { PageQuery } from "../../app/calls/history.ts";
import { NO_CELL, type Cell, reportUnknownId, uuidOf } from "../../domain/core/ids.ts";
import type { Page } from "../../domain/core/page.ts";
import {
  accountMonths,
  ArchivedRows,
  archivedRowsOf,
  dashed,
  queryBeside,
  withMonths,
  type WithMonths,
} from "../archived/archived-rows.ts";
import { filteredPageOf, filterValues, readCursor, requirePage, SCAN_LIMIT } from "../database/pages.ts";
import type { FilteredRow } from "../database/pages.ts";
import { queryWithRetry } from "../database/retry.ts";
import { uuidFromId } from "../database/row-mapping.ts";

interface RecordKind<Row extends { id: string }, Status, Item> {
  readonly list: "receipts" | "runs";
  readonly table: "receipt" | "run";
  readonly prefix: "rcpt" | "run";
  /** Record $1 of account $2. */
  readonly find: string;
  /** A page of account $1, before record $2, at most $3; undefined: needs a scan. */
  readonly page: (status: Status | undefined) => string | undefined;
  /** A page that scans, with the parameters of {@link filterValues}. */
  readonly scan: (status: Status | undefined) => string;
  readonly itemOf: (row: Row) => Item;
}

/** Lists receipts or runs, newest first (identifiers are UUIDv7), also those that are archived. */
export class RecordList<Row extends { id: string }, Status extends string, Item> {
  readonly #kind: RecordKind<Row, Status, Item>;
  readonly #pool: Pool;
  readonly #archived: ArchivedRows;
  readonly #cell: Cell;

  constructor(
    kind: RecordKind<Row, Status, Item>,
    pool: Pool,
    archived = new ArchivedRows(undefined),
    cell = NO_CELL,
  ) {
    this.#kind = kind;
    this.#pool = pool;
    this.#archived = archived;
    this.#cell = cell;
  }

  /** A page that scans, or of archived records of a status, can be short and still name a next page. */
  async list({ accountId, cursor, limit, status, filter }: PageQuery<Status>): Promise<Page<Item>> {
    requirePage(limit, filter);
    const { list, table, page, scan, itemOf } = this.#kind;
    const [account, before] = [uuidFromId("acct", accountId), readCursor(list, cursor)];
    const values = [account, before, limit + 1];
    const indexed = filter === undefined ? page(status) : undefined;
    const scanned = { text: scan(status), values: [...values, ...filterValues(filter ?? {})] };
    const asked = indexed === undefined ? scanned : { text: indexed, values };
    const rows = await queryWithRetry<FilteredRow<Row> & WithMonths>(this.#pool, {
      name: `${list}-${indexed === undefined ? "filter" : "list"}-${status ?? "all"}`,
      text: withMonths(asked.text),
      values: asked.values,
    });
    // Archived records are not indexed by status.
    const isScan = indexed === undefined || status !== undefined;
    const looksAt = isScan ? SCAN_LIMIT : limit + 1;
    const wanted = { table, account, rows, before, limit, filter, looksAt };
    const archived = await archivedRowsOf(this.#archived, wanted);
    const found = archived
      ? await queryBeside<FilteredRow<Row>>(this.#pool, isScan ? scanned : asked, archived)
      : rows;
    return filteredPageOf<Row, Item>(list, limit, found, itemOf);
  }

  async find(accountId: string, id: string): Promise<Item | undefined> {
    const { list, table, prefix, find, itemOf } = this.#kind;
    const uuid = uuidOf(prefix, id);
    if (uuid === undefined) return undefined;
    const query = { text: find, values: [uuid, uuidFromId("acct", accountId)] };
    const [stored] = await queryWithRetry<Row>(this.#pool, { name: `${list}-find`, ...query });
    const row = stored ?? (await this.#findArchived(dashed(uuid), query));
    if (!row) reportUnknownId(this.#cell, table, prefix, id);
    return row && itemOf(row);
  }

  async #findArchived(id: string, query: { text: string; values: string[] }): Promise<Row | undefined> {
    const [, account = ""] = query.values;
    const months = await accountMonths(this.#pool, account);
    const wanted = { table: this.#kind.table, from: id, to: id, order: "oldest", count: 1 } as const;
    // A month that came back meanwhile is in the tables.
    const loaded = await this.#archived.load(account, months, wanted);
    const [row] = await queryBeside<Row>(this.#pool, query, loaded);
    return row;
  }
}
