import { ToolgateError } from "../../domain/core/errors.ts";

/** A call that failed after its payment was settled. The money is on the balance, and the same call with the same proof uses it. */
export class PaymentCreditedError extends ToolgateError {
  readonly txSignature: string;

  constructor(failure: ToolgateError, txSignature: string) {
    const { code, message, status, retryAfterSeconds, cause } = failure;
    super(
      code,
      `${message}; your payment is on your balance, and the same call with the same proof uses it without another payment`,
      { status, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }), cause },
    );
    this.txSignature = txSignature;
  }
}
