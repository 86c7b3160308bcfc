import type { ErrorCode } from "../../domain/core/errors.ts";
import type { PaymentId } from "../../domain/payments/payment-id.ts";
import type { Proof, ProofFormat } from "../../domain/payments/proof.ts";
import type { Quote } from "../../domain/payments/quote.ts";
import type { X402Terms } from "../../domain/payments/x402.ts";
import type { CallContext } from "../../domain/calls/call-context.ts";
import type { VerifiedTransfer } from "./verified-transfer.ts";
import type { FinalityStatus, UnfinalizedPayment } from "../treasury/treasury-chain.ts";

/** A proof, resolved to the network and reference of its payment. */
export interface IdentifiedPayment extends PaymentId {
  /** Name of the payment method. */
  readonly method: string;
  readonly quoteId: string;
  /** Wallet that signed the payment, base58; undefined while only the chain shows it. */
  readonly payer?: string | undefined;
  /** The step that the proof states; undefined: not stated. */
  readonly stepId: string | undefined;
  /** Whether the payer has paid already; otherwise {@link PaymentMethod.settle} makes the payment. */
  readonly made: boolean;
}

/** A use of a payment for a call. */
export interface PaymentAttempt {
  /** Issued for this caller and this call. */
  readonly quote: Quote;
  /** Arrival of the call, ms. */
  readonly receivedAt: number;
  readonly context: CallContext;
}

/** A payment that was made, ready to be credited. The ledger credits it once. */
export interface SettledPayment {
  readonly transfer: VerifiedTransfer;
  /** Why it can never buy the call of its quote. It is credited to the balance then. */
  readonly problem: { readonly code: ErrorCode; readonly message: string } | undefined;
}

/** One payment method in a 402 response. Responses with the same methods share one message. */
export interface PaymentInstructions {
  /** Entry of `payment_methods`. */
  readonly name: string;
  /** Its part of `x402_header_format`; undefined if it has no X-Payment form. */
  readonly xPayment: string | undefined;
  /** Fee payer for the caller, base58. */
  readonly sponsor: { readonly feePayer: string; readonly treasuryOwner: string } | undefined;
}

/** An entry of `accepts` in an x402 offer. */
export interface X402Entry {
  readonly terms: X402Terms;
  /** The network's name in version 1. */
  readonly v1Network: string;
  /** More members of `extra`, version 2 only. */
  readonly hints: Readonly<Record<string, string>>;
}

/**
 * A way to pay a quote. Implementations hold no money: the ledger credits what {@link settle} returns, once
 * per payment, in the transaction that starts the call. Every method bounds what an invalid proof costs it.
 */
export interface PaymentMethod<
  P extends Proof = Proof,
  I extends IdentifiedPayment = IdentifiedPayment,
> extends ProofFormat<P> {
  /** Returns its part of 402 responses; undefined when it cannot pay this quote. Constant parts. */
  instructions(quote: Quote): PaymentInstructions | undefined;
  /** Returns its x402 form; called for quotes that have instructions. */
  x402?(quote: Quote): Promise<X402Entry>;
  /**
   * Resolves a proof to the network and reference of its payment. No side effects.
   * @throws ToolgateError INVALID_PAYMENT 400: nothing was consumed
   */
  identify(proof: P): Promise<I>;
  /**
   * Runs the checks that consume nothing and need no lookup.
   * @throws ToolgateError INVALID_PAYMENT or QUOTE_EXPIRED: the payment stays usable
   */
  verify(payment: I, attempt: PaymentAttempt): Promise<void>;
  /**
   * Makes the payment unless it is made, and verifies it against the quote. Repeatable: one proof is one
   * payment.
   * @throws ToolgateError INVALID_PAYMENT, RATE_LIMITED, PAYMENT_PENDING or UNAVAILABLE: nothing is credited
   */
  settle(payment: I, attempt: PaymentAttempt): Promise<SettledPayment>;
  /**
   * Returns the statuses of payments on its network that were credited before they were final. The ledger
   * reverses the credit of payments that vanished or failed. Methods of one network share it.
   */
  finalityStatuses(payments: readonly UnfinalizedPayment[], signal: AbortSignal): Promise<FinalityStatus[]>;
}
