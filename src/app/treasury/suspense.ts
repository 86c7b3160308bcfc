import type { MicroUsd } from "../../domain/core/money.ts";
import type { Page } from "../../domain/core/page.ts";

export type SuspenseStatus = "open" | "assigned";

/** An account, or the operator. */
export type SuspenseRecipient = { accountId: string } | "operator";

/** A transfer to the treasury that names no known quote or deposit. */
export interface SuspendedTransfer {
  txSignature: string;
  amount: MicroUsd;
  /** All memos on the chain; undefined without any. */
  memos: string | undefined;
  /** Base58; undefined when unknown. */
  payer: string | undefined;
  blockTime: Date;
  status: SuspenseStatus;
  /** Undefined while open. */
  assignedTo: SuspenseRecipient | undefined;
  /** Reason given by the operator. */
  reason: string | undefined;
}

/** Transfers without an account. */
export interface Suspense {
  /** Newest first. @throws ToolgateError INVALID_REQUEST for an invalid cursor */
  list(query: {
    limit: number;
    cursor: string | undefined;
    status: SuspenseStatus | undefined;
  }): Promise<Page<SuspendedTransfer>>;
  /**
   * Assigns a transfer to a recipient. Idempotent for one recipient.
   * @throws ToolgateError NOT_FOUND for an unknown transfer or account; INVALID_REQUEST when assigned to
   * another
   */
  assign(assignment: {
    txSignature: string;
    to: SuspenseRecipient;
    reason: string;
  }): Promise<SuspendedTransfer>;
}
