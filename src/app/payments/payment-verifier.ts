import type { MicroUsd } from "../../domain/core/money.ts";

export interface PaymentQuery {
  txSignature: string;
  /** Account of the proof; undefined for a transaction sent by the gateway. */
  accountId?: string | undefined;
  signal: AbortSignal;
}

/** Result of a lookup, judged by the treasury's balance change and not by the transaction's instructions. */
export type PaymentVerdict =
  /** It paid the treasury; `memo` is the one memo in our format. */
  | {
      kind: "paid";
      amount: MicroUsd;
      memo: string;
      payer: string | undefined;
      slot: bigint;
      blockTime: Date;
      finalized: boolean;
    }
  /** It is on the chain and no valid payment: `reason` names the failed check and what to do. */
  | { kind: "refused"; reason: string }
  /** No endpoint finds it within PAYMENT_WAIT_MS. */
  | { kind: "not_found" }
  /** It pays, but its amount requires finality and it is not finalized yet. */
  | { kind: "not_finalized" };

export interface PaymentVerifier {
  /**
   * Waits for the transaction up to PAYMENT_WAIT_MS, then judges it.
   * @throws ToolgateError UNAVAILABLE when no endpoint can be reached
   */
  verify(query: PaymentQuery): Promise<PaymentVerdict>;
}
