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
