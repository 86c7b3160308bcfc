import type { Pool } from "pg";
import type { Refunds } from "../../app/treasury/refunds.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { uuidOf } from "../../domain/core/ids.ts";
import type { Receipt } from "../../domain/calls/receipt.ts";
import { archivedMonthOf } from "../archived/account-months.ts";
import { queryWithRetry } from "../database/retry.ts";
import { toReceipt, type ReceiptRow } from "../database/row-mapping.ts";

/** Refunds on PostgreSQL: from revenue to the charged account, once per receipt. */
export class PostgresRefunds implements Refunds {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async refund(refund: {
    receiptId: string;
    reason: string;
  }): Promise<{ receipt: Receipt; refunded: boolean }> {
    const uuid = uuidOf("rcpt", refund.receiptId);
    if (uuid === undefined) throw notFound();
    const [row] = await queryWithRetry<ReceiptRow & { refunded_now: boolean }>(this.#pool, {
      name: "refunds-refund",
      text: "select refunded_now, (receipt).* from ledger_refund($1, $2)",
      values: [uuid, refund.reason],
    });
    if (!row) throw await this.#notFound(uuid);
    return { receipt: toReceipt(row), refunded: row.refunded_now };
  }

  /** A receipt of an archived time may be in the archive: a refund needs its row. */
  async #notFound(uuid: string): Promise<ToolgateError> {
    const month = await archivedMonthOf(this.#pool, uuid);
    if (month === undefined) return notFound();
    return new ToolgateError(
      "NOT_FOUND",
      `there is no such receipt in the database, and those of its time are archived: an operator runs ` +
        `toolgate archive restore ${month}, then repeats the refund`,
    );
  }
}

function notFound(): ToolgateError {
  return new ToolgateError("NOT_FOUND", "there is no such receipt");
}
