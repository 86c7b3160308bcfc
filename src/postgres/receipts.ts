import type { Pool, QueryConfig } from "pg";
import type { Page, PageQuery, Receipts } from "../app/ports.ts";
import { uuidOf } from "../domain/ids.ts";
import type { Receipt, ReceiptStatus } from "../domain/receipt.ts";
import { cursorAfter, readCursor } from "./cursor.ts";
import { patientQuery } from "./retry.ts";
import { receiptOf, uuidFrom, type ReceiptRow } from "./rows.ts";

/** What picks the receipts of a status. The rare ones are looked up by the transfer that made them so, not among all the others. */
const PICKS: Record<ReceiptStatus, string> = {
  final: "status = 'final'",
  refunded: `status = 'refunded' and run_id = any (array(
               select encode(ref, 'hex')::uuid from transfer where kind = 'refund' and credit = $1))`,
  reversed: `status = 'reversed' and tx_signature = any (array(
               select ref from transfer where kind = 'reversal' and debit = $1))`,
};

/** The statement for one page: of account $1, before the receipt $2, at most $3. Each status has its own, so that each has its plan. */
export function receiptsPage(status: ReceiptStatus | undefined): string {
  const picked = status === undefined ? "" : `and ${PICKS[status]}`;
  return `select * from issued_receipt where account_id = $1 and id < $2 ${picked} order by id desc limit $3`;
}

/** Reads receipts, newest first: identifiers are UUIDv7, so their order is the order in time. */
export class PostgresReceipts implements Receipts {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async list(query: PageQuery<ReceiptStatus>): Promise<Page<Receipt>> {
    const after = readCursor("receipts", query.cursor);
    const rows = await this.#read({
      name: `receipts-list-${query.status ?? "all"}`,
      text: receiptsPage(query.status),
      values: [uuidFrom("acct", query.accountId), after, query.limit + 1],
    });
    const shown = rows.slice(0, query.limit);
    const last = shown.at(-1);
    return {
      items: shown.map(receiptOf),
      nextCursor: rows.length > query.limit && last ? cursorAfter("receipts", last.id) : undefined,
    };
  }

  async find(accountId: string, receiptId: string): Promise<Receipt | undefined> {
    const uuid = uuidOf("rcpt", receiptId);
    if (uuid === undefined) return undefined;
    const rows = await this.#read({
      name: "receipts-find",
      text: "select * from issued_receipt where id = $1 and account_id = $2",
      values: [uuid, uuidFrom("acct", accountId)],
    });
    return rows[0] && receiptOf(rows[0]);
  }

  #read(query: QueryConfig): Promise<ReceiptRow[]> {
    return patientQuery(this.#pool, query);
  }
}
