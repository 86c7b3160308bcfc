import type { Pool } from "pg";
import type { Page, PageRequest } from "../../domain/core/page.ts";
import type {
  Suspense,
  SuspenseRecipient,
  SuspenseStatus,
  SuspendedTransfer,
  Refunds,
} from "../../app/treasury/treasury-ledger.ts";
import { parseSignature } from "../../domain/core/base58.ts";
import { SOLANA } from "../../domain/payments/payment-id.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { uuidOf } from "../../domain/core/ids.ts";
import { keyedPageOf, readCursor } from "../database/pages.ts";
import { queryWithRetry } from "../database/retry.ts";
import { referenceText, idFromUuid, toReceipt, type ReceiptRow } from "../database/row-mapping.ts";
import { SYSTEM_ACCOUNTS } from "../database/system-accounts.ts";
import type { Receipt } from "../../domain/calls/receipt.ts";
import { archivedMonthOf } from "../archived/archived-rows.ts";

interface SuspendedRow {
  network: string;
  reference: Buffer;
  amount: bigint;
  memos: string | null;
  payer: string | null;
  block_time: Date;
  assigned_to: string | null;
  reason: string | null;
}

const SELECT = `
  select payment.network, payment.reference, payment.amount, payment.memos, payment.payer, payment.block_time,
    payment.assigned_to, assignment.note as reason
  from payment left join transfer assignment on assignment.kind = 'assignment'
    and assignment.ref = payment_ref(payment.network, payment.reference)
  where payment.account_id = '${SYSTEM_ACCOUNTS.suspense}' and not payment.reversed`;

const PICKS: Record<SuspenseStatus, string> = {
  open: "and payment.assigned_to is null",
  assigned: "and payment.assigned_to is not null",
};

/** A page before transfer $1, at most $2. Only the watch of Solana finds payments without an owner. */
export function suspensePage(status: SuspenseStatus | undefined): string {
  return `${SELECT} ${status === undefined ? "" : PICKS[status]}
    and (payment.created_at, payment.reference) < (coalesce((select created_at from payment
      where network = '${SOLANA}' and reference = $1), 'infinity'), $1)
    order by payment.created_at desc, payment.reference desc limit $2`;
}

/**
 * Suspense on PostgreSQL: transfers without an owner are payments of the suspense account, also after
 * assignment.
 */
export class PostgresSuspense implements Suspense {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async list(query: PageRequest & { status: SuspenseStatus | undefined }): Promise<Page<SuspendedTransfer>> {
    const after = Buffer.from(readCursor("suspense", query.cursor), "hex");
    const name = `suspense-list-${query.status ?? "all"}`;
    const rows = await this.#query<SuspendedRow>(name, suspensePage(query.status), [after, query.limit + 1]);
    return keyedPageOf("suspense", query.limit, rows, transferOf, ({ reference }) =>
      reference.toString("hex"),
    );
  }

  async assign({ txSignature, to, reason }: Parameters<Suspense["assign"]>[0]): Promise<SuspendedTransfer> {
    const signature = parseSignature(txSignature);
    if (!signature) throw unknownTransfer();
    const account = to === "operator" ? undefined : uuidOf("acct", to.accountId);
    if (to !== "operator" && account === undefined) throw unknownAccount();
    const text = "select treasury_assign($1, $2, $3, $4) as outcome";
    const [row] = await this.#query<{ outcome: string }>("suspense-assign", text, [
      SOLANA,
      Buffer.from(signature),
      account,
      reason,
    ]);
    switch (row?.outcome) {
      case "unknown":
        throw unknownTransfer();
      case "no_account":
        throw unknownAccount();
      case "other":
        throw invalidField("tx_signature", "was assigned to another owner before");
      default:
        return this.#find(Buffer.from(signature));
    }
  }

  async #find(signature: Buffer): Promise<SuspendedTransfer> {
    const text = `${SELECT} and payment.network = $1 and payment.reference = $2`;
    const [row] = await this.#query<SuspendedRow>("suspense-find", text, [SOLANA, signature]);
    if (!row) throw unknownTransfer();
    return transferOf(row);
  }

  #query<Row extends object>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    return queryWithRetry(this.#pool, { name, text, values });
  }
}

function transferOf(row: SuspendedRow): SuspendedTransfer {
  return {
    txSignature: referenceText(row),
    amount: row.amount,
    memos: row.memos ?? undefined,
    payer: row.payer ?? undefined,
    blockTime: row.block_time,
    status: row.assigned_to === null ? "open" : "assigned",
    assignedTo: row.assigned_to === null ? undefined : ownerOf(row.assigned_to),
    reason: row.reason ?? undefined,
  };
}

function ownerOf(uuid: string): SuspenseRecipient {
  return uuid === SYSTEM_ACCOUNTS.operator ? "operator" : { accountId: idFromUuid("acct", uuid) };
}

function unknownTransfer(): ToolgateError {
  return new ToolgateError("NOT_FOUND", "there is no such transfer in suspense");
}

function unknownAccount(): ToolgateError {
  return new ToolgateError("NOT_FOUND", "there is no such account");
}

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
