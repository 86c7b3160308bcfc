import type { Quote } from "../../domain/payments/quote.ts";
import type { RecentBlockhash } from "./relay-chain.ts";
import type { RelayedTransaction, UnsignedTransaction } from "./sponsor.ts";

/** Who wants what relayed. */
export interface RelayRequest {
  readonly transaction: RelayedTransaction;
  /** The quote that its memo names, opened; whether it belongs to the caller and the call was checked before. */
  readonly quote: Quote;
  readonly accountId: string;
  readonly keyId: string;
  /** When the call came in, ms: a quote that had expired by then is not paid for any more. */
  readonly receivedAt: number;
  readonly signal: AbortSignal;
}

/** The relay, as the paid-call path knows it. */
export interface Relay {
  /** Base58. */
  readonly feePayer: string;
  /**
   * Decodes a transaction and finds its identity. One that was relayed before is known again even when the fee payer has changed since.
   * @throws ToolgateError INVALID_PAYMENT: 400 for what is no transaction, 402 for what is none of the one form that is relayed, naming
   *   the rule
   */
  identify(bytes: Uint8Array): Promise<RelayedTransaction>;
  /**
   * Sees a payment onto the chain: checks it against the quote, claims message and quote, signs, simulates, sends, waits until it is
   * confirmed. The same transaction may come again and again, on any instance: it is sent as often as need be and claimed once.
   * @returns when it was claimed, ms: that is when the payer paid
   * @throws ToolgateError INVALID_PAYMENT (402; nothing was sent, or it failed on the chain), QUOTE_EXPIRED, RATE_LIMITED (a quota
   *   of account or wallet), PAYMENT_PENDING (sent, outcome unknown: repeat the same), UNAVAILABLE (budget spent, or the network cannot be asked)
   */
  relay(order: RelayRequest): Promise<{ claimedAt: number }>;
  /** A blockhash for a 402 answer, a few seconds old at most; undefined when the network does not tell. Never throws. */
  recentBlockhash(): Promise<RecentBlockhash | undefined>;
  /**
   * The transaction that pays the quote, with the memo `<prefix>:<quote_id>`.
   * @throws ToolgateError INVALID_REQUEST (payer), INVALID_PAYMENT (a quote too cheap to relay), QUOTE_EXPIRED, UNAVAILABLE
   */
  build(payment: { quote: Quote; payer: string; signal: AbortSignal }): Promise<UnsignedTransaction>;
}
