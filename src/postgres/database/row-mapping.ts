import { encodeBase58, parseSignature } from "../../domain/core/base58.ts";
import { uuidOf, type IdPrefix } from "../../domain/core/ids.ts";
import type { PaidBy, Receipt, ReceiptStatus } from "../../domain/calls/receipt.ts";

/** A row of the view `issued_receipt`. */
export interface ReceiptRow {
  id: string;
  run_id: string;
  tool: string;
  quote_id: string | null;
  step_id: string | null;
  tx_signature: Buffer | null;
  quoted: bigint;
  debited: bigint;
  refunded: bigint;
  paid_by: PaidBy;
  status: ReceiptStatus;
  created_at: Date;
}

export function toReceipt(row: ReceiptRow): Receipt {
  return {
    receiptId: idFromUuid("rcpt", row.id),
    runId: idFromUuid("run", row.run_id),
    tool: row.tool,
    quoteId: row.quote_id ?? undefined,
    stepId: row.step_id ?? undefined,
    txSignature: row.tx_signature ? encodeBase58(row.tx_signature) : undefined,
    quoted: row.quoted,
    debited: row.debited,
    refunded: row.refunded,
    paidBy: row.paid_by,
    status: row.status,
    createdAt: row.created_at,
  };
}

/** The prefixed identifier of a uuid. */
export function idFromUuid(prefix: IdPrefix, uuid: string): string {
  return `${prefix}_${uuid.replaceAll("-", "")}`;
}

/**
 * The uuid of an identifier created by this service.
 * @throws Error for any other text
 */
export function uuidFromId(prefix: IdPrefix, id: string): string {
  const uuid = uuidOf(prefix, id);
  if (uuid === undefined) throw new Error(`not an identifier with prefix ${prefix}: ${id}`);
  return uuid;
}

/**
 * The 64 bytes of a validated signature.
 * @throws Error when invalid
 */
export function signatureFrom(txSignature: string): Buffer {
  const bytes = parseSignature(txSignature);
  if (!bytes) throw new Error("not a transaction signature");
  return Buffer.from(bytes);
}
