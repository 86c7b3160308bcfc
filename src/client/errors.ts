/** A payment as errors and results tell of it. */
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
  /** Signature of the transaction on the chain, base58. Of a gasless payment only the receipt tells it. */
  readonly txSignature: string | undefined;
}

/**
 * Where the money of a payment is.
 * - `not_moved`: nothing left the wallet, and nothing will.
 * - `signed`: the gateway holds a signed transaction. Unless it was sent it can be sent until its blockhash expires, 60 to 90 seconds after it was signed.
 * - `sent`: the transfer is on the chain, or may still get there.
 * - `received`: the treasury has it on the chain.
 */
export type MoneyIs = "not_moved" | "signed" | "sent" | "received";

/** Every error of this package has a `code` that never changes. */
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

/** The call would take more than what is left of the budget. Nothing was paid. */
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

/** The offer asks for what this client does not pay: another network, asset, recipient, or terms that contradict each other. Nothing was paid. */
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

/** The gateway will not give the call for this payment. `money` says where the money is; the call was not paid a second time. */
export class PaymentRefusedError extends ToolgateClientError {
  readonly payment: PaymentSummary;
  readonly money: MoneyIs;
  /** Code of the gateway's answer: INVALID_PAYMENT, QUOTE_EXPIRED, PAYMENT_REQUIRED; REDIRECTED where there was none. */
  readonly answer: string;

  constructor(answer: string, message: string, payment: PaymentSummary, money: MoneyIs) {
    super("PAYMENT_REFUSED", message);
    this.answer = answer;
    this.payment = payment;
    this.money = money;
  }
}

/** The outcome is not known yet. The payment is in the store, and `resumePayments` finishes it; to call anew could pay a second time. */
export class PaymentUnsettledError extends ToolgateClientError {
  readonly payment: PaymentSummary;
  readonly money: MoneyIs;

  constructor(message: string, payment: PaymentSummary, money: MoneyIs, options?: ErrorOptions) {
    super("PAYMENT_UNSETTLED", message, options);
    this.payment = payment;
    this.money = money;
  }
}

/** The store holds what this package did not write, or cannot be written. */
export class PaymentStoreError extends ToolgateClientError {
  constructor(message: string, options?: ErrorOptions) {
    super("PAYMENT_STORE", message, options);
  }
}
