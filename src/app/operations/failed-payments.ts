import { formatUsdc, type MicroUsd } from "../../domain/core/money.ts";
import type { Quotes } from "../../domain/payments/quote.ts";

/** Explains to the operator why a payment bought no call. */
export function failureReason(payment: FailedPayment, quotes: Pick<Quotes, "open">): string {
  switch (payment.kind) {
    case "relay":
      return `The relayed transaction failed: ${payment.relayReason ?? "no reason was reported"}.`;
    case "reversed":
      return "The transaction did not stay on the chain, and its credit was taken back.";
    case "unused":
      return `It was credited to the balance: ${unusedReason(payment, quotes)}.`;
    default:
      return payment.kind satisfies never;
  }
}

function unusedReason(
  { quoteId, amount = 0n, quotePaid, blockTime }: FailedPayment,
  quotes: Pick<Quotes, "open">,
) {
  const quote = quoteId === undefined ? undefined : quotes.open(quoteId);
  if (quotePaid) return "another payment has bought the call of this quote";
  if (!quote) return "its proof did not arrive in time";
  if (amount < quote.price) return `it is less than the price of ${formatUsdc(quote.price)} USDC`;
  const lateMs = (blockTime?.getTime() ?? 0) - quote.expiresAt;
  if (lateMs > 0) return `it came ${Math.ceil(lateMs / 1_000)} s after the quote expired`;
  return "its proof did not arrive in time";
}

export type FailedPaymentKind = "reversed" | "unused" | "relay";

/** A payment that bought no call. */
export interface FailedPayment {
  txSignature: string;
  kind: FailedPaymentKind;
  /** Undefined when it belongs to no account. */
  accountId: string | undefined;
  quoteId: string | undefined;
  /** Gain of the treasury, micro-USD; undefined when there was none. */
  amount: MicroUsd | undefined;
  /** Undefined when it is in no block. */
  blockTime: Date | undefined;
  /** Whether another payment paid the quote. */
  quotePaid: boolean;
  /** Failure of the relay; undefined for other kinds. */
  relayReason: string | undefined;
  at: Date;
}
