import type { Quote } from "../../domain/payments/quote.ts";
import type { CallContext } from "../calls/call-context.ts";
import type { CallPayment } from "../calls/ledger.ts";
import { submitPayment, type GaslessDeps, type IdentifiedPayment } from "./gasless/gasless-method.ts";
import { requireQuote, settlePayment, type SettleDeps } from "./chain-payment.ts";

export interface QuotePayment {
  readonly identified: IdentifiedPayment;
  /** Undefined: it could not be opened. */
  readonly quote: Quote | undefined;
  readonly fingerprint: Buffer;
  /** Arrival of the call, ms. */
  readonly receivedAt: number;
}

/**
 * Checks the quote, submits a gasless payment, and verifies the payment on the chain.
 * @returns the payment, ready to be credited with the call
 * @throws ToolgateError INVALID_PAYMENT, QUOTE_EXPIRED, RATE_LIMITED, PAYMENT_PENDING or UNAVAILABLE
 */
export async function payQuote(
  deps: SettleDeps & GaslessDeps,
  { identified, quote: opened, fingerprint, receivedAt }: QuotePayment,
  context: CallContext,
): Promise<CallPayment> {
  const quote = requireQuote(opened, identified, context.caller.accountId, fingerprint);
  const paidAt = await submitPayment(deps, identified, quote, receivedAt, context);
  return settlePayment(deps, identified, quote, paidAt, context);
}
