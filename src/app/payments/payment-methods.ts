import { parseProof, type Proof, type ProofCarriers, type ProofFormat } from "../../domain/payments/proof.ts";
import type { Quote } from "../../domain/payments/quote.ts";
import { type ErrorCode, ToolgateError } from "../../domain/core/errors.ts";
import type { PaymentId } from "../../domain/payments/payment-id.ts";
import type { PaymentRequest } from "../../domain/payments/payment-auth.ts";
import type { X402Terms } from "../../domain/payments/x402.ts";
import type { CallContext } from "../../domain/calls/call-context.ts";
import type { FinalityStatus, UnfinalizedPayment } from "../treasury/treasury-ledger.ts";
import type { MicroUsd } from "../../domain/core/money.ts";

export type NetworkFinality = Pick<PaymentMethod, "finalityStatuses">;

/**
 * The registered payment methods. Code outside a method's folder uses the methods through this class only.
 */
export class PaymentMethods {
  /** By network. */
  readonly networks: ReadonlyMap<string, NetworkFinality>;
  readonly #methods: readonly PaymentMethod[];
  readonly #byName: ReadonlyMap<string, PaymentMethod>;

  /** @param methods in the order of 402 responses, which is also the order in which they recognise proofs */
  constructor(methods: readonly PaymentMethod[]) {
    this.#methods = methods;
    this.#byName = new Map(methods.map((method) => [method.name, method]));
    this.networks = new Map(methods.map((method) => [method.network, method]));
    if (this.#byName.size !== methods.length) throw new TypeError("two payment methods have one name");
  }

  /** @throws ToolgateError INVALID_PAYMENT 400: nothing was looked up or consumed */
  parse(carriers: ProofCarriers): Proof | undefined {
    return parseProof(carriers, this.#methods);
  }

  /** Returns the instructions of each method that can pay the quote. */
  instructions(quote: Quote): PaymentInstructions[] {
    return this.#methods.flatMap((method) => method.instructions(quote) ?? []);
  }

  /** Returns the x402 forms of the quote; empty when it cannot be paid so. */
  async x402(quote: Quote): Promise<X402Entry[]> {
    const entries = this.#methods.map(async (method) => method.instructions(quote) && method.x402?.(quote));
    return (await Promise.all(entries)).filter((entry) => entry !== undefined);
  }

  /** Returns the quote in the scheme `Payment`: one request per method of the scheme, that of our last. */
  async requests(quote: Quote): Promise<PaymentRequest[]> {
    const made = this.#methods.map(async (method) => method.instructions(quote) && method.request?.(quote));
    const requests = (await Promise.all(made)).filter((request) => request !== undefined);
    return [...new Map(requests.map((one) => [`${one.method}/${one.intent}`, one])).values()];
  }

  /** {@link PaymentMethod.identify} */
  identify(proof: Proof): Promise<IdentifiedPayment> {
    return this.#of(proof).identify(proof);
  }

  /** {@link PaymentMethod.verify} */
  verify(payment: IdentifiedPayment, attempt: PaymentAttempt): Promise<void> {
    return this.#of(payment).verify(payment, attempt);
  }

  /** {@link PaymentMethod.settle} */
  settle(payment: IdentifiedPayment, attempt: PaymentAttempt): Promise<SettledPayment> {
    return this.#of(payment).settle(payment, attempt);
  }

  #of({ method: name }: { readonly method: string }): PaymentMethod {
    const method = this.#byName.get(name);
    if (method) return method;
    throw new Error(`no payment method ${name}`);
  }
}

/** A proof, resolved to the network and reference of its payment. */
export interface IdentifiedPayment extends PaymentId {
  readonly method: string;
  readonly quoteId: string;
  /** Wallet that signed the payment, base58; undefined while only the chain shows it. */
  readonly payer?: string | undefined;
  /** The step that the proof states; undefined: not stated. */
  readonly stepId: string | undefined;
  /** Whether the payer has paid already; otherwise {@link PaymentMethod.settle} makes the payment. */
  readonly made: boolean;
}

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
  /** Returns its form in the scheme `Payment`; called for quotes that have instructions. */
  request?(quote: Quote): Promise<PaymentRequest>;
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

/** A payment that was verified on its network. Its account is credited once. */
export interface VerifiedTransfer extends PaymentId {
  /** Gain of the treasury's token account, micro-USD; more than 0. */
  amount: MicroUsd;
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

/** INVALID_PAYMENT: the proof does not pay this call. @param reason names the failed check and what to do */
export function paymentRefused(reason: string): ToolgateError {
  return new ToolgateError("INVALID_PAYMENT", `payment verification failed: ${reason}`);
}
