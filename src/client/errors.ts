/** A payment, as reported by errors and results. */
export interface PaymentSummary {
  /** Key of its record in the store. */
  readonly paymentId: string;
  readonly quoteId: string;
  readonly tool: string;
  /** micro-USD */
  readonly amount: bigint;
  readonly method: "gasless" | "transfer";
  /** Token account that is paid, base58. */
  readonly payTo: string;
  /** Signature of the transaction on the chain, base58. For a gasless payment only the receipt has it. */
  readonly txSignature: string | undefined;
}

/**
 * State of a payment's money.
 * - `not_moved`: nothing left the wallet, and nothing will.
 * - `signed`: the gateway holds a signed transaction. Unless it was sent it can be sent until its blockhash
 * expires, 60 to 90 seconds after it was signed.
 * - `sent`: the transfer is on the chain, or may still get there.
 * - `received`: the treasury has it on the chain.
 */
export type MoneyIs = "not_moved" | "signed" | "sent" | "received";

/** Base class of this package's errors. `code` is stable. */
export class ToolgateClientError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** The call costs more than `maxPrice`. Nothing was paid. */
export class PriceTooHighError extends ToolgateClientError {
  /** micro-USD */
  readonly price: bigint;
  readonly maxPrice: bigint;

  constructor(price: bigint, maxPrice: bigint, message: string) {
    super("PRICE_TOO_HIGH", message);
    this.price = price;
    this.maxPrice = maxPrice;
  }
}

/** The price exceeds the remaining budget. Nothing was paid. */
export class BudgetExceededError extends ToolgateClientError {
  /** micro-USD */
  readonly price: bigint;
  readonly remaining: bigint;

  constructor(price: bigint, remaining: bigint, message: string) {
    super("BUDGET_EXCEEDED", message);
    this.price = price;
    this.remaining = remaining;
  }
}

/** The offer has an unsupported network, asset or recipient, or contradictory terms. Nothing was paid. */
export class UnsupportedOfferError extends ToolgateClientError {
  constructor(message: string, options?: ErrorOptions) {
    super("UNSUPPORTED_OFFER", message, options);
  }
}

/** The transaction could not be signed or sent. Nothing was paid, and nothing will be. */
export class PaymentNotMadeError extends ToolgateClientError {
  readonly payment: PaymentSummary | undefined;
  readonly money: MoneyIs = "not_moved";

  constructor(message: string, payment?: PaymentSummary, options?: ErrorOptions) {
    super("PAYMENT_NOT_MADE", message, options);
    this.payment = payment;
  }
}

/** The gateway refuses this payment. `money` states where the money is; the call was not paid again. */
export class PaymentRefusedError extends ToolgateClientError {
  readonly payment: PaymentSummary;
  readonly money: MoneyIs;
  /** INVALID_PAYMENT, QUOTE_EXPIRED, PAYMENT_REQUIRED; REDIRECTED where there was no answer. */
  readonly answer: string;

  constructor(answer: string, message: string, payment: PaymentSummary, money: MoneyIs) {
    super("PAYMENT_REFUSED", message);
    this.answer = answer;
    this.payment = payment;
    this.money = money;
  }
}

/** The outcome is unknown. `resumePayments` completes the stored payment; a new call could pay twice. */
export class PaymentUnsettledError extends ToolgateClientError {
  readonly payment: PaymentSummary;
  readonly money: MoneyIs;

  constructor(message: string, payment: PaymentSummary, money: MoneyIs, options?: ErrorOptions) {
    super("PAYMENT_UNSETTLED", message, options);
    this.payment = payment;
    this.money = money;
  }
}

/** The store has unknown content or cannot be written. */
export class PaymentStoreError extends ToolgateClientError {
  constructor(message: string, options?: ErrorOptions) {
    super("PAYMENT_STORE", message, options);
  }
}
