import type { Quote } from "../../../domain/payments/quote.ts";
import type { RecentBlockhash } from "./relay-chain.ts";
import type { RelayedTransaction, UnsignedTransaction } from "./sponsor.ts";

export interface RelayRequest {
  readonly transaction: RelayedTransaction;
  /** The opened quote named by the memo. Its account and call are already checked. */
  readonly quote: Quote;
  readonly accountId: string;
  readonly keyId: string;
  /** Arrival of the call, ms. A quote that expired before it is refused. */
  readonly receivedAt: number;
  readonly signal: AbortSignal;
}

/** The gasless relay, as calls use it. */
export interface Relay {
  /** Base58. */
  readonly feePayer: string;
  /**
   * Decodes and identifies a transaction. A relayed one stays known after the fee payer changes.
   * @throws ToolgateError INVALID_PAYMENT: 400 if it is no transaction, 402 naming the rule it breaks
   */
  identify(bytes: Uint8Array): Promise<RelayedTransaction>;
  /**
   * Submits a payment: checks it against the quote, claims message and quote, signs, simulates, sends, and
   * waits for confirmation. Idempotent for one transaction on all instances.
   * @returns the time of the claim, ms: that is when the payer paid
   * @throws ToolgateError INVALID_PAYMENT (not sent, or failed on the chain), QUOTE_EXPIRED, RATE_LIMITED
   * (quota), PAYMENT_PENDING (outcome unknown: repeat the call), UNAVAILABLE (budget spent, or no endpoint
   * reachable)
   */
  relay(order: RelayRequest): Promise<{ claimedAt: number }>;
  /** Returns a blockhash for a 402 response; undefined when the network does not answer. Never throws. */
  recentBlockhash(): Promise<RecentBlockhash | undefined>;
  /**
   * Builds the transaction that pays the quote, with the memo `<prefix>:<quote_id>`.
   * @throws ToolgateError INVALID_REQUEST (payer), INVALID_PAYMENT (price too low to relay), QUOTE_EXPIRED,
   * UNAVAILABLE
   */
  build(payment: { quote: Quote; payer: string; signal: AbortSignal }): Promise<UnsignedTransaction>;
}
