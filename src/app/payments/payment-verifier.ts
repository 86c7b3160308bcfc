import type { MicroUsd } from "../../domain/core/money.ts";

/** How a proof's transaction is looked up. */
export interface PaymentQuery {
  txSignature: string;
  /** Whose proof it is; undefined for what the gateway has sent itself. */
  accountId?: string | undefined;
  signal: AbortSignal;
}

/** What the chain says of a transaction, by the treasury's own balance (never by what the transaction says of itself). */
export type PaymentVerdict =
  /** It paid the treasury; `memo` is the text of the one memo that is ours. */
  | {
      kind: "paid";
      amount: MicroUsd;
      memo: string;
      payer: string | undefined;
      slot: bigint;
      blockTime: Date;
      finalized: boolean;
    }
  /** It is on the chain, and no payment to us: `reason` says which check failed and what to do. */
  | { kind: "refused"; reason: string }
  /** No endpoint knows it (yet), after waiting PAYMENT_WAIT_MS. */
  | { kind: "not_found" }
  /** It pays, but is not finalized yet and its amount asks for that. */
  | { kind: "not_finalized" };

/** Looks transactions up. */
export interface PaymentVerifier {
  /**
   * Waits for the transaction (bounded), then judges it.
   * @throws ToolgateError UNAVAILABLE when no endpoint can be reached: an outage is never a verdict
   */
  verify(query: PaymentQuery): Promise<PaymentVerdict>;
}
