import type { MicroUsd } from "../../domain/core/money.ts";
import type { Movement, UnfinalizedPayment } from "./treasury-chain.ts";

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
