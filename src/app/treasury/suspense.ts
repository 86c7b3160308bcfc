import type { MicroUsd } from "../../domain/core/money.ts";
import type { Page } from "../../domain/core/page.ts";

export type SuspenseStatus = "open" | "assigned";

/** Who a transfer is given to: an account, or the operator, whose own money it is. */
export type SuspenseRecipient = { accountId: string } | "operator";

/** A transfer that reached the treasury and names no quote of ours. */
export interface SuspendedTransfer {
  txSignature: string;
  amount: MicroUsd;
  /** The memos on the chain, as they are; undefined when there are none. */
  memos: string | undefined;
  /** Who paid, base58, if it could be told. */
  payer: string | undefined;
  blockTime: Date;
  status: SuspenseStatus;
  /** Undefined while it is open. */
  assignedTo: SuspenseRecipient | undefined;
  /** Why. */
  reason: string | undefined;
}

/** The operator's work with transfers that belong to nobody. */
export interface Suspense {
  /** Newest first. @throws ToolgateError INVALID_REQUEST for a cursor that is none of ours */
  list(query: {
    limit: number;
    cursor: string | undefined;
    status: SuspenseStatus | undefined;
  }): Promise<Page<SuspendedTransfer>>;
  /**
   * Gives a transfer to its owner, once: a repeat with the same owner changes nothing.
   * @throws ToolgateError NOT_FOUND for an unknown transfer or account; INVALID_REQUEST when it was assigned to another
   */
  assign(assignment: {
    txSignature: string;
    to: SuspenseRecipient;
    reason: string;
  }): Promise<SuspendedTransfer>;
}
