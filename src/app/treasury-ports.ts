import type { MicroUsd } from "../domain/money.ts";
import type { Receipt } from "../domain/receipt.ts";
import type { Page } from "./ports.ts";

/** One finalized transaction in the history of the treasury's token account. */
export interface HistoryEntry {
  /** Base58, 64 bytes. */
  txSignature: string;
  slot: bigint;
  /** Undefined where the node does not tell it. */
  blockTime: Date | undefined;
  /** Whether it failed, so that it moved nothing. */
  failed: boolean;
}

/** Which part of the history. */
export interface HistoryQuery {
  /** Everything in this slot and after it. */
  fromSlot: bigint;
  /** Everything from this time on; where it is earlier than `fromSlot`, the later bound counts. */
  fromTime: Date;
  /** Which endpoint is asked first: the turn modulo their number. Another turn reads the history of another node. */
  firstEndpoint: number;
  signal: AbortSignal;
}

/** What a finalized transaction did to the treasury's token account. */
export interface Movement {
  txSignature: string;
  slot: bigint;
  blockTime: Date;
  /** What the account gained, micro-USD; negative: what left it; 0n: it was named only. */
  change: bigint;
  /** What the account held afterwards, micro-USD. */
  balanceAfter: MicroUsd;
  /** The text of the one memo that is ours; undefined when there is none, or more than one. */
  memo: string | undefined;
  /** Every top-level memo, for the operator's eyes: at most 256 characters. */
  memos: string | undefined;
  /** Owner of the token account that sent the largest part, base58. */
  payer: string | undefined;
}

/** How a payment that was accepted before finality stands by now. */
export type FinalityStatus =
  /** It can no longer be forked away, and it paid what was credited. */
  | "finalized"
  /** Not finalized yet, or it cannot be told: ask again. */
  | "pending"
  /** Every endpoint answered, is far beyond its slot and does not know it: it can no longer land. */
  | "vanished"
  /** It landed, finalized, and failed: it paid nothing. */
  | "failed"
  /** It is finalized, and pays another amount than was credited. Nothing is done but to tell the operator. */
  | "different";

/** A payment that was credited before it was finalized. */
export interface UnfinalizedPayment {
  txSignature: string;
  slot: bigint;
  amount: MicroUsd;
}

/** The treasury's token account on the chain, as far as it is finalized. Everything throws ToolgateError UNAVAILABLE when it cannot be told. */
export interface TreasuryChain {
  /** The token account, base58. */
  readonly tokenAccount: string;
  /** How many endpoints there are. */
  readonly endpoints: number;
  /**
   * The finalized history down to its bound, oldest first and whole: a page that fails fails it all.
   * `before` is the newest entry that lies before the bound; undefined when the history begins within it.
   */
  history(query: HistoryQuery): Promise<{ entries: HistoryEntry[]; before: HistoryEntry | undefined }>;
  /** What one finalized transaction did. @throws ToolgateError UNAVAILABLE also while no endpoint has it finalized */
  movement(txSignature: string, signal: AbortSignal): Promise<Movement>;
  /** What the account holds, finalized, micro-USD. */
  balance(signal: AbortSignal): Promise<MicroUsd>;
  /** How these payments stand, in their order. An endpoint that cannot answer makes what the others do not know `pending`. */
  finalityStatuses(payments: readonly UnfinalizedPayment[], signal: AbortSignal): Promise<FinalityStatus[]>;
}

/** How far the watch of a treasury account has come. */
export interface WatchState {
  /** Every movement up to this slot is recorded. */
  slot: bigint;
  /** When the watch last looked at all of the history up to the head. */
  checkedAt: Date;
  /** What the account held when the watch began, micro-USD. */
  opening: MicroUsd;
  /** `opening` and every movement recorded, micro-USD: what the account must hold. */
  expected: MicroUsd;
}

/** A movement and whom it belongs to: the account and the quote, or the deposit, that its memo names; undefined: nobody's yet. */
export interface AttributedMovement extends Omit<Movement, "balanceAfter"> {
  attribution: { accountId: string; quoteId: string } | undefined;
}

/** What recording a movement came to. */
export type RecordResult =
  /** It was recorded before. */
  | "known"
  /** A payment that had been credited when it was proved; it is finalized now. */
  | "finalized"
  /** A payment that nobody proved, or a deposit: credited to the account of what it names. */
  | "credited"
  /** It belongs to nobody: kept in suspense. */
  | "suspended"
  /** It left the treasury: booked against the operator. */
  | "withdrawn"
  /** A payment that had been taken back is there after all: given back. */
  | "reinstated"
  /** A payment that was credited with another amount. Nothing was changed; the operator must look. */
  | "mismatch";

/** The books of the treasury: what reached the token account and left it, each movement once. */
export interface TreasuryLedger {
  /**
   * Takes or keeps the lead among the instances for `leaseMs`: one at a time does the treasury's work.
   * @returns whether this instance leads
   */
  acquireLeadership(leaseMs: number): Promise<boolean>;
  /** Gives the lead up, so that another instance need not wait for it to run out. */
  releaseLeadership(): Promise<void>;
  /** When this installation began, by the database's clock: no quote is older. */
  installedAt(): Promise<Date>;
  /** Undefined: the watch of this account has not begun. */
  watch(tokenAccount: string): Promise<WatchState | undefined>;
  /** Begins the watch of an account, once: what it held before is the operator's. */
  startWatch(tokenAccount: string, opening: { amount: MicroUsd; slot: bigint }): Promise<void>;
  /** Which of these are not recorded yet; with the amount of those whose payment was credited when it was proved. */
  unrecorded(
    tokenAccount: string,
    txSignatures: readonly string[],
  ): Promise<{ txSignature: string; credited: MicroUsd | undefined }[]>;
  /** Books a movement, once; 0n changes nothing. */
  record(tokenAccount: string, movement: AttributedMovement): Promise<RecordResult>;
  /**
   * Moves the watch on to a slot, never back, once everything up to it is recorded.
   * @param whole whether that is all of the history up to the head, as `lookedAt` tells; true when left out
   */
  advanceWatch(tokenAccount: string, slot: bigint, whole?: boolean): Promise<void>;
  /** The oldest payments first that are not finalized and were credited at least `minAgeMs` ago. */
  unfinalized(query: { minAgeMs: number; limit: number }): Promise<UnfinalizedPayment[]>;
  /** Marks payments as finalized. @returns how many were not before */
  finalize(txSignatures: readonly string[]): Promise<number>;
  /** Puts payments that could not be judged behind those that were not looked at yet. */
  postpone(txSignatures: readonly string[]): Promise<void>;
  /**
   * Takes the credit of a payment back, once. The balance may fall below zero.
   * @returns undefined when it was taken back before, is finalized or unknown
   */
  reverse(
    txSignature: string,
  ): Promise<{ accountId: string; amount: MicroUsd; balance: MicroUsd } | undefined>;
  /** Transfers in suspense: how many, and how much, micro-USD. */
  suspended(): Promise<{ count: number; amount: MicroUsd }>;
}

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

/** The operator's refunds. */
export interface Refunds {
  /**
   * Gives what a receipt debited back to its account, once.
   * @returns the receipt; `refunded` is false when it had been given back before
   * @throws ToolgateError NOT_FOUND for an unknown receipt
   */
  refund(refund: { receiptId: string; reason: string }): Promise<{ receipt: Receipt; refunded: boolean }>;
}
