import { ToolgateError } from "../../domain/core/errors.ts";
import type { Quote } from "../../domain/payments/quote.ts";

/** PAYMENT_REQUIRED with the offer; the doors make the 402 body of it (specification 2.3). */
export class PaymentRequiredError extends ToolgateError {
  readonly tool: string;
  readonly quote: Quote;

  constructor(tool: string, quote: Quote, message: string) {
    super("PAYMENT_REQUIRED", message);
    this.tool = tool;
    this.quote = quote;
  }
}
