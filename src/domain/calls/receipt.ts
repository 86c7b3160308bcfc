import type { MicroUsd } from "../core/money.ts";
import type { ErrorCode } from "../core/errors.ts";

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

/** Least charge of a metered call: a receipt over nothing would have no transfer. */
const LEAST: MicroUsd = 1n;

/**
 * Returns what a completed call is charged: what it used, at most what is held for it.
 * @param used as its tool reports it
 */
export function chargeOf(held: MicroUsd, used: MicroUsd): MicroUsd {
  if (used >= held) return held;
  return used > LEAST ? used : LEAST;
}

/** active -> completed | failed | cancelled; the last three are final. */
export type RunStatus = "active" | "completed" | "failed" | "cancelled";

/** How a call ended for its caller. Failed code is a result: its run is completed and charged. */
export type CallOutcome = "succeeded" | "failed" | "timeout" | "limit" | "cancelled";

export interface RunError {
  code: ErrorCode;
  message: string;
}

/** One execution of a tool (specification 2.6). */
export interface Run {
  runId: string;
  tool: string;
  status: RunStatus;
  stepId: string | undefined;
  /** Price that was held. */
  quoted: MicroUsd;
  /** What was charged; 0n unless completed. */
  spent: MicroUsd;
  receiptId: string | undefined;
  error: RunError | undefined;
  /** Model that answered a chat, as its stored result says; undefined in lists. */
  model: string | undefined;
  createdAt: Date;
  startedAt: Date | undefined;
  endedAt: Date | undefined;
}
