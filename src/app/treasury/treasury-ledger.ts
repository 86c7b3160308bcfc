import type { MicroUsd } from "../../domain/core/money.ts";
import type { PaymentId } from "../../domain/payments/payment-id.ts";
import type { Movement, UnfinalizedPayment } from "./treasury-chain.ts";

/** Progress of the treasury watch. */
export interface WatchState {
  /** Every movement up to this slot is recorded. */
  slot: bigint;
  /** Last time the watch reached the head of the history. */
  checkedAt: Date;
  /** Balance at the start of the watch, micro-USD. */
  opening: MicroUsd;
  /** Expected balance: `opening` plus all recorded movements, micro-USD. */
  expected: MicroUsd;
}

/** A movement with the account and the quote or deposit of its memo; undefined without one. */
export interface AttributedMovement extends Omit<Movement, "balanceAfter"> {
  attribution: { accountId: string; quoteId: string } | undefined;
}

export type RecordResult =
  /** Already recorded. */
  | "known"
  /** A payment credited by its proof, now finalized. */
  | "finalized"
  /** A payment without a proof, or a deposit: credited to the account of its memo. */
  | "credited"
  /** No account: kept in suspense. */
  | "suspended"
  /** It left the treasury: booked against the operator. */
  | "withdrawn"
  /** A reversed payment that landed after all: credited again. */
  | "reinstated"
  /** Credited with another amount. Nothing was changed; the operator must act. */
  | "mismatch";

/** The treasury's ledger: each movement of the token account is recorded once. */
export interface TreasuryLedger {
  /**
   * Acquires or renews the leader lease for `leaseMs`.
   * @returns whether this instance is the leader
   */
  acquireLeadership(leaseMs: number): Promise<boolean>;
  /** Releases the lease, so that another instance need not wait for its expiry. */
  releaseLeadership(): Promise<void>;
  /** Installation time by the database's clock: no quote is older. */
  installedAt(): Promise<Date>;
  /** Undefined before the first watch of this account. */
  watch(tokenAccount: string): Promise<WatchState | undefined>;
  /** Starts the watch of an account, once. The opening balance is the operator's. */
  startWatch(tokenAccount: string, opening: { amount: MicroUsd; slot: bigint }): Promise<void>;
  /** Returns the unrecorded movements, each with the amount that a proof credited for it. */
  unrecorded(
    tokenAccount: string,
    txSignatures: readonly string[],
  ): Promise<{ txSignature: string; credited: MicroUsd | undefined }[]>;
  /** Records a movement. Idempotent; 0n changes nothing. */
  record(tokenAccount: string, movement: AttributedMovement): Promise<RecordResult>;
  /**
   * Advances the watch to a slot whose history is recorded; never moves back.
   * @param whole whether the history up to the head is recorded (updates `checkedAt`); default true
   */
  advanceWatch(tokenAccount: string, slot: bigint, whole?: boolean): Promise<void>;
  /** Returns unfinalized payments of a network credited at least `minAgeMs` ago, oldest first. */
  unfinalized(query: { network: string; minAgeMs: number; limit: number }): Promise<UnfinalizedPayment[]>;
  /** Marks payments as finalized. @returns how many changed */
  finalize(network: string, references: readonly string[]): Promise<number>;
  /** Moves payments without an outcome to the end of the queue. */
  postpone(network: string, references: readonly string[]): Promise<void>;
  /**
   * Reverses the credit of a payment, once. The balance may become negative.
   * @returns undefined when already reversed, finalized or unknown
   */
  reverse(
    payment: PaymentId,
  ): Promise<{ accountId: string; amount: MicroUsd; balance: MicroUsd } | undefined>;
  /** Number and sum of transfers in suspense, micro-USD. */
  suspended(): Promise<{ count: number; amount: MicroUsd }>;
}
