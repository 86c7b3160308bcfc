import { ToolgateError } from "../../domain/core/errors.ts";
import type { Clock } from "../../domain/core/clock.ts";
import { displayUsd, type MicroUsd } from "../../domain/core/money.ts";
import { stepIdOf, type Quote } from "../../domain/payments/quote.ts";
import type { Caller } from "../../domain/accounts/caller.ts";
import type { CallContext } from "../../domain/calls/call-context.ts";
import { paymentRefused } from "./payment-methods.ts";
import type { CallPayment, PaymentCredits, IdentifiedPayment, PaymentMethods } from "./payment-methods.ts";

export interface PayDeps {
  readonly payments: Pick<PaymentMethods, "verify" | "settle">;
  readonly ledger: PaymentCredits;
  readonly clock: Clock;
}

export interface AccountHolder {
  /** For whom quotes are issued: an account, or any wallet. */
  readonly quotedTo: string;
  /** Returns the account holder; creates the account of a wallet that has settled its first payment. */
  open(): Promise<Caller>;
}

export interface QuotePayment {
  readonly identified: IdentifiedPayment;
  /** Undefined: it could not be opened. */
  readonly quote: Quote | undefined;
  readonly fingerprint: Buffer;
  readonly buyer: AccountHolder;
  /** Arrival of the call, ms. */
  readonly receivedAt: number;
}

/**
 * Checks the quote and the payment, and settles the payment. A payment of this quote that cannot buy the call
 * is credited to the buyer's account.
 * @returns the payment, ready to be credited with the call
 * @throws ToolgateError INVALID_PAYMENT, QUOTE_EXPIRED, RATE_LIMITED, PAYMENT_PENDING or UNAVAILABLE
 */
export async function payQuote(
  { payments, ledger, clock }: PayDeps,
  payment: QuotePayment,
  context: CallContext,
): Promise<CallPayment> {
  const { identified, receivedAt } = payment;
  const quote = requireQuote(payment);
  const attempt = { quote, receivedAt, context };
  const from = clock.now();
  await payments.verify(identified, attempt);
  const { transfer, problem } = await payments.settle(identified, attempt);
  if (context.record) context.record.paymentMs = clock.now() - from;
  if (!problem) {
    const { network, reference } = identified;
    return { network, reference, quoteId: quote.quoteId, stepId: stepIdOf(quote.quoteId), transfer };
  }
  const { accountId } = await payment.buyer.open();
  const { credited } = await ledger.credit(accountId, transfer);
  throw new ToolgateError(problem.code, `${problem.message}; ${whereItWent(credited, transfer.amount)}`);
}

/**
 * Credits the payment sent with a call that was charged before, by another payment or from the balance. The
 * call has its result, so a payment that cannot be verified yet is no error and stays valid. A payment that
 * is not made yet is not made.
 */
export async function creditExtraPayment(
  { payments, ledger, clock }: PayDeps,
  payment: Omit<QuotePayment, "receivedAt">,
  context: CallContext,
): Promise<void> {
  if (!payment.identified.made) return;
  try {
    const quote = requireQuote(payment);
    const attempt = { quote, receivedAt: clock.now(), context };
    await payments.verify(payment.identified, attempt);
    const { transfer } = await payments.settle(payment.identified, attempt);
    await ledger.credit((await payment.buyer.open()).accountId, transfer);
  } catch (error) {
    if (!(error instanceof ToolgateError) && !context.signal.aborted) throw error;
  }
}

/** Checks that the quote of a proof belongs to this buyer and this call. */
function requireQuote({ quote, identified, fingerprint, buyer }: Omit<QuotePayment, "receivedAt">): Quote {
  if (!quote)
    throw paymentRefused(
      "the quote was not issued by this gateway; use the quote_id of the 402 response, unchanged",
    );
  if (quote.accountId !== buyer.quotedTo) throw paymentRefused("the quote was issued to another account");
  if (!quote.fingerprint.equals(fingerprint)) {
    throw paymentRefused(
      "the quote was issued for another tool or other params; repeat the call exactly as it was quoted",
    );
  }
  const { stepId } = identified;
  if (stepId !== undefined && stepId !== stepIdOf(quote.quoteId))
    throw paymentRefused("step_id does not belong to the quote");
  return quote;
}

function whereItWent(credited: boolean, amount: MicroUsd): string {
  return credited
    ? `${displayUsd(amount)} was credited to your balance`
    : "the transfer had been credited to your balance before";
}
