import type { MicroUsd } from "../../domain/core/money.ts";
import type { PaymentId } from "../../domain/payments/payment-id.ts";

/** A payment that was verified on its network. Its account is credited once. */
export interface VerifiedTransfer extends PaymentId {
  /** Gain of the treasury's token account, micro-USD; more than 0. */
  amount: MicroUsd;
  /** The quote that the memo names. */
  quoteId: string;
  /** Owner of the paying token account, base58; undefined when unknown. */
  payer: string | undefined;
  slot: bigint;
  /** When the chain confirmed it. */
  blockTime: Date;
  /** Whether it can no longer be dropped by a fork. */
  finalized: boolean;
  paidBy: "transfer" | "gasless";
}

/** The payment of a call with a proof. */
export interface CallPayment extends PaymentId {
  quoteId: string;
  stepId: string;
  /** Credited and held in the same transaction; undefined when an earlier attempt credited it. */
  transfer: VerifiedTransfer | undefined;
}

/** The part of the ledger that credits payments without a call. */
export interface PaymentCredits {
  /**
   * Credits a transfer that pays no call (too small, too late). `credited` is false if it was credited
   * before.
   */
  credit(accountId: string, deposit: VerifiedTransfer): Promise<{ credited: boolean; balance: MicroUsd }>;
}
