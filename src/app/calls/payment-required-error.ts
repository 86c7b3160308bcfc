import { ToolgateError } from "../../domain/core/errors.ts";
import type { Quote } from "../../domain/payments/quote.ts";

/** PAYMENT_REQUIRED with a quote. Transports build the 402 body from it (specification 2.3). */
export class PaymentRequiredError extends ToolgateError {
  readonly tool: string;
  readonly quote: Quote;

  constructor(tool: string, quote: Quote, message: string) {
    super("PAYMENT_REQUIRED", message);
    this.tool = tool;
    this.quote = quote;
  }
}
