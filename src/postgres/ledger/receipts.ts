import type { Pool, QueryConfig } from "pg";
import type { Page } from "../../domain/core/page.ts";
import type { PageQuery, Receipts } from "../../app/calls/history.ts";
import { NO_CELL, type Cell } from "../../domain/core/cell.ts";
import { reportUnknownId, uuidOf } from "../../domain/core/ids.ts";
import type { Receipt, ReceiptStatus } from "../../domain/calls/receipt.ts";
import { accountMonths, dashed, withMonths, type WithMonths } from "../archived/account-months.ts";
import { ArchivedRows } from "../archived/archived-rows.ts";
import { queryBeside } from "../archived/beside-tables.ts";
import { archivedRowsOf } from "../archived/page-rows.ts";
import { readCursor } from "../database/cursor.ts";
import {
  filteredPageOf,
  filterValues,
  firstRows,
  OUTCOME,
  PAGE_ACCOUNT,
  PAGE_BEFORE,
  requirePage,
  SCAN_LIMIT,
  type FilteredRow,
} from "../database/pages.ts";
import { queryWithRetry } from "../database/retry.ts";
import { toReceipt, uuidFromId, type ReceiptRow } from "../database/row-mapping.ts";

/** Conditions per status. The rare statuses start from the transfer that caused them. */
const PICKS: Record<ReceiptStatus, string> = {
  // As PostgreSQL expects it: nearly all are.
  final: "status not in ('refunded', 'reversed')",
  refunded: `status = 'refunded' and run_id = any (array(
               select encode(ref, 'hex')::uuid from transfer where kind = 'refund' and credit = $1))`,
  reversed: `status = 'reversed' and run_id = any (array(
               select paid.run_id from transfer cross join lateral payment_of(transfer.ref) of
               cross join lateral (
                 select run_id from receipt where network = of.network and reference = of.reference offset 0
               ) paid
               where transfer.kind = 'reversal' and transfer.debit = $1))`,
};

/** Conditions along the index (see pages.ts): before receipt $2; among identifiers from $8 to $9. */
const BEFORE = `(account_id, id) < (${PAGE_ACCOUNT}, $2) and account_id >= ${PAGE_ACCOUNT}`;
const AMONG =
  `(account_id, id) <= (${PAGE_ACCOUNT}, least($2::uuid, $9::uuid)) ` +
  `and (account_id, id) >= (${PAGE_ACCOUNT}, $8) and id < ${PAGE_BEFORE}`;
const NEWEST = "account_id desc, id desc";

/** Condition on a scanned receipt. */
const FINAL =
  "and exists (select from issued_receipt issued where issued.id = looked_at.id and issued.status = 'final')";

const LAST_LOOKED_AT = SCAN_LIMIT - 1;

/** A page of account $1, before receipt $2, at most $3. Each status has its own statement and plan. */
export function receiptsPage(status: ReceiptStatus | undefined): string {
  const picked = status === undefined ? "" : `and ${PICKS[status]}`;
  return firstRows(`select * from issued_receipt where ${BEFORE} ${picked} order by ${NEWEST}`);
}

/**
 * A filtered page of account $1: before receipt $2, at most $3, tool $4, key $5, created from $6 to $7, with
 * identifiers from $8 to $9, outcome $10, model $11. Scans at most {@link SCAN_LIMIT} rows; the first row
 * says where it stopped.
 */
export function filteredReceiptsPage(status: ReceiptStatus | undefined): string {
  // Nearly all receipts are final, so that status is checked last, on matches only.
  const picked = status === undefined || status === "final" ? "" : `and ${PICKS[status]}`;
  const kept = status === "final" ? FINAL : "";
  return /* sql */ `
    with looked_at as materialized (
      select id, run_id, tool, created_at from issued_receipt
      where ${AMONG} ${picked}
      order by ${NEWEST} limit ${SCAN_LIMIT}
    ), found as materialized (
      select looked_at.id from looked_at join run on run.id = looked_at.run_id
      where ($4::text is null or looked_at.tool = $4) and ($5::uuid is null or run.key_id = $5)
        and looked_at.created_at >= $6 and looked_at.created_at < $7
        and ($10::text is null or ${OUTCOME} = $10) ${kept}
        and ($11::text is null
          or exists (select from run_model where run_id = looked_at.run_id and model = $11))
      order by looked_at.id desc limit $3
    )
    select looked.stopped_at, receipt.*
    from (
      select (select id from looked_at order by id desc limit 1 offset ${LAST_LOOKED_AT}) as stopped_at
    ) looked left join (
      select issued_receipt.* from found join issued_receipt on issued_receipt.id = found.id
    ) receipt on true
    order by receipt.id desc nulls last`;
}

/** Lists receipts, newest first (identifiers are UUIDv7), also those that are archived. */
export class PostgresReceipts implements Receipts {
  readonly #pool: Pool;
  readonly #archived: ArchivedRows;
  readonly #cell: Cell;

  constructor(pool: Pool, archived = new ArchivedRows(undefined), cell = NO_CELL) {
    this.#pool = pool;
    this.#archived = archived;
    this.#cell = cell;
  }

  /** A page with a filter, or of archived receipts of a status, can be short and still name a next page. */
  async list({ accountId, cursor, limit, status, filter }: PageQuery<ReceiptStatus>): Promise<Page<Receipt>> {
    requirePage(limit, filter);
    const [account, before] = [uuidFromId("acct", accountId), readCursor("receipts", cursor)];
    const page = [account, before, limit + 1];
    const scanned = {
      text: filteredReceiptsPage(status),
      values: [...page, ...filterValues(filter ?? {})],
    };
    const plain = { text: receiptsPage(status), values: page };
    const asked = filter === undefined ? plain : scanned;
    const rows = await this.#read<FilteredRow<ReceiptRow> & WithMonths>({
      name: `receipts-${filter === undefined ? "list" : "filter"}-${status ?? "all"}`,
      text: withMonths(asked.text),
      values: asked.values,
    });
    // Which archived receipts have a status is not indexed.
    const isScan = filter !== undefined || status !== undefined;
    const archived = await archivedRowsOf(this.#archived, {
      table: "receipt",
      account,
      rows,
      before,
      limit,
      filter,
      looksAt: isScan ? SCAN_LIMIT : limit + 1,
    });
    const found = archived
      ? await queryBeside<FilteredRow<ReceiptRow>>(this.#pool, isScan ? scanned : plain, archived)
      : rows;
    return filteredPageOf<ReceiptRow, Receipt>("receipts", limit, found, toReceipt);
  }

  async find(accountId: string, receiptId: string): Promise<Receipt | undefined> {
    const uuid = uuidOf("rcpt", receiptId);
    if (uuid === undefined) return undefined;
    const account = uuidFromId("acct", accountId);
    const query = {
      text: "select * from issued_receipt where id = $1 and account_id = $2",
      values: [uuid, account],
    };
    const rows = await this.#read<ReceiptRow>({ name: "receipts-find", ...query });
    const row = rows[0] ?? (await this.#findArchived(account, dashed(uuid), query));
    if (!row) reportUnknownId(this.#cell, "receipt", "rcpt", receiptId);
    return row && toReceipt(row);
  }

  async #findArchived(account: string, id: string, query: QueryConfig): Promise<ReceiptRow | undefined> {
    const months = await accountMonths(this.#pool, account);
    const wanted = { table: "receipt", from: id, to: id, order: "oldest", count: 1 } as const;
    // A month that came back meanwhile is in the tables.
    const loaded = await this.#archived.load(account, months, wanted);
    const [row] = await queryBeside<ReceiptRow>(this.#pool, query, loaded);
    return row;
  }

  #read<Row extends object>(query: QueryConfig): Promise<Row[]> {
    return queryWithRetry(this.#pool, query);
  }
}
