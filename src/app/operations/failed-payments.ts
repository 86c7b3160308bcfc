import { formatUsdc, type MicroUsd } from "../../domain/core/money.ts";
import type { Quotes } from "../../domain/payments/quote.ts";

/** Why a payment did not buy what it was for, as far as it is known: a sentence for the operator. */
export function failureReason(payment: FailedPayment, quotes: Pick<Quotes, "open">): string {
  switch (payment.kind) {
    case "relay":
      return `The relayed transaction failed: ${payment.relayReason ?? "for no reason that was told"}.`;
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
  if (!quote) return "nobody has brought its proof in time";
  if (amount < quote.price) return `it is less than the price of ${formatUsdc(quote.price)} USDC`;
  const lateMs = (blockTime?.getTime() ?? 0) - quote.expiresAt;
  if (lateMs > 0) return `it came ${Math.ceil(lateMs / 1_000)} s after the quote had expired`;
  return "nobody has brought its proof in time";
}

/** What became of a payment that did not buy what it was for. */
export type FailedPaymentKind = "reversed" | "unused" | "relay";

/** A payment that did not buy what it was for, as it is recorded. */
export interface FailedPayment {
  txSignature: string;
  kind: FailedPaymentKind;
  /** Undefined where it was nobody's. */
  accountId: string | undefined;
  quoteId: string | undefined;
  /** What the treasury gained, micro-USD; undefined where it gained nothing. */
  amount: MicroUsd | undefined;
  /** When the chain made its block; undefined where it made none. */
  blockTime: Date | undefined;
  /** Whether another payment bought the call of its quote. */
  quotePaid: boolean;
  /** Why the relay gave it up; undefined for others. */
  relayReason: string | undefined;
  at: Date;
}
