import type { MicroUsd } from "../core/money.ts";

export type PaidBy = "balance" | "transfer" | "gasless";
export type ReceiptStatus = "final" | "refunded" | "reversed";

/** The record of one charged call (specification 2.5). */
export interface Receipt {
  receiptId: string;
  runId: string;
  tool: string;
  /** Quote, payment step and transaction; undefined when paid from the balance. */
  quoteId: string | undefined;
  stepId: string | undefined;
  txSignature: string | undefined;
  quoted: MicroUsd;
  debited: MicroUsd;
  refunded: MicroUsd;
  paidBy: PaidBy;
  status: ReceiptStatus;
  createdAt: Date;
}

/**
 * The members of a receipt in the order of CSV files, each with its column name; undefined: not exported.
 * Storage reads each member from the column of the same name in snake case.
 */
export const RECEIPT_MEMBERS: Readonly<Record<keyof Receipt, string | undefined>> = {
  createdAt: "time_utc",
  receiptId: "receipt_id",
  runId: "run_id",
  tool: "tool",
  status: "status",
  paidBy: "paid_by",
  quoted: "quoted_usdc",
  debited: "debited_usdc",
  refunded: "refunded_usdc",
  quoteId: "quote_id",
  stepId: undefined,
  txSignature: "tx_signature",
};
