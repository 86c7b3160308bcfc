import { ToolgateError } from "../../domain/core/errors.ts";

/** The call failed after its payment was credited. The same call with the same proof uses the credit. */
export class PaymentCreditedError extends ToolgateError {
  readonly txSignature: string;

  constructor(failure: ToolgateError, txSignature: string) {
    const { code, message, status, retryAfterSeconds, cause } = failure;
    super(
      code,
      `${message}; your payment is on your balance, and the same call with the same proof uses it ` +
        "without another payment",
      { status, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }), cause },
    );
    this.txSignature = txSignature;
  }
}
