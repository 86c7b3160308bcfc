import { DEPOSIT_PAYS_NO_CALL, type StatedPayment } from "../../domain/payments/body-proof.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { parseMemo } from "../../domain/payments/memo.ts";
import { displayUsd, type MicroUsd } from "../../domain/core/money.ts";
import { stepIdOf, type Quote, type Quotes } from "../../domain/payments/quote.ts";
import {
  type VerifiedTransfer,
  type PaymentVerifier,
  type PaymentVerdict,
  paymentRefused,
  type IdentifiedPayment,
  type PaymentAttempt,
  type SettledPayment,
} from "./payment-methods.ts";

/** Maximum difference between the cluster's clock and ours, ms. */
const CLUSTER_CLOCK_MS = 60_000;

/** Time that finality may take after the quote expired, ms: it is not the payer's delay. */
const FINALITY_GRACE_MS = 120_000;

/** Dependencies of verifying a transfer on Solana. */
export interface ChainPaymentDeps {
  readonly chain: PaymentVerifier;
  readonly quotes: Pick<Quotes, "find">;
  readonly memoPrefix: string;
  /** FINALIZED_ABOVE_MICROUSD: payments of at least this amount must be finalized. */
  readonly finalizedAbove: MicroUsd;
}

export interface ChainPayment extends IdentifiedPayment {
  readonly stated: StatedPayment;
}

type Paid = Extract<PaymentVerdict, { kind: "paid" }>;
type PaidBy = VerifiedTransfer["paidBy"];

/**
 * Returns the error for a late proof; undefined if in time. Expired quotes cause no chain request; the
 * treasury watch credits the payment and the balance buys the call.
 */
export function lateProof(deps: ChainPaymentDeps, quote: Quote, at: number): ToolgateError | undefined {
  if (!isLate(deps, quote, at)) return undefined;
  return new ToolgateError(
    "QUOTE_EXPIRED",
    "the quote has expired; a payment made for it is credited to your balance once it is finalized, " +
      "within a minute. Then repeat the call without a proof to pay from the balance",
  );
}

/**
 * Looks the transaction up and checks it against the quote.
 * @param attempt `receivedAt` is when the payer paid: for a relayed payment the time of its claim
 * @throws ToolgateError INVALID_PAYMENT, PAYMENT_PENDING or UNAVAILABLE
 */
export async function settleOnChain(
  deps: ChainPaymentDeps,
  payment: ChainPayment,
  { quote, receivedAt, context }: PaymentAttempt,
  paidBy: PaidBy,
): Promise<SettledPayment> {
  const { network, reference } = payment;
  // The gateway's own transactions do not count against the account's chain lookups.
  const accountId = paidBy === "gasless" ? undefined : context.caller.accountId;
  const verdict = await deps.chain.verify({ txSignature: reference, accountId, signal: context.signal });
  const paid = requirePaid(verdict, paidBy);
  const memo = parseMemo(paid.memo, deps.memoPrefix);
  if (memo?.form === "deposit") throw paymentRefused(`the memo on the chain ${DEPOSIT_PAYS_NO_CALL}`);
  if (!memo || (memo.quoteId !== quote.quoteId && !(await deps.quotes.find(memo.quoteId))))
    throw paymentRefused(
      "the memo on the chain names no quote of this gateway; the operator can assign the transfer",
    );
  const mismatch = mismatchOf(payment, quote, paid, memo.quoteId);
  if (mismatch !== undefined) throw paymentRefused(`${mismatch}; nothing was consumed`);
  const { amount, payer, slot, blockTime, finalized } = paid;
  const { quoteId } = quote;
  const memoStepId = memo.form === "step" ? memo.stepId : undefined;
  return {
    transfer: { network, reference, quoteId, amount, payer, slot, blockTime, finalized, paidBy },
    problem: problemOf(deps, quote, receivedAt, { ...paid, memoStepId, paidBy }),
  };
}

function requirePaid(verdict: PaymentVerdict, paidBy: PaidBy): Paid {
  switch (verdict.kind) {
    case "paid":
      return verdict;
    case "refused":
      throw paymentRefused(verdict.reason);
    case "not_found":
      if (paidBy === "gasless")
        throw new ToolgateError(
          "PAYMENT_PENDING",
          "your transaction was sent and is not visible everywhere yet; repeat the call with the same " +
            "proof, and do not pay again",
          { retryAfterSeconds: 2 },
        );
      throw new ToolgateError(
        "INVALID_PAYMENT",
        "payment verification failed: the transaction is not on the chain yet; wait until it is " +
          "confirmed and repeat the call with the same proof (quote and proof stay unused)",
        { retryAfterSeconds: 2 },
      );
    case "not_finalized":
      throw new ToolgateError(
        "PAYMENT_PENDING",
        "a payment of this size must be finalized first; repeat the call with the same proof, and do " +
          "not pay again",
        { retryAfterSeconds: 5 },
      );
  }
}

/**
 * Returns where the proof contradicts the chain. Such a proof consumes nothing, so a stranger who saw the
 * payment on the chain cannot spoil it.
 */
function mismatchOf(
  { stated }: ChainPayment,
  quote: Quote,
  paid: Paid,
  memoQuoteId: string,
): string | undefined {
  const { memo, amount } = stated;
  if (memoQuoteId !== quote.quoteId)
    return (
      "the memo on the chain names another quote; send the quote_id that it names, from the account " +
      "that was quoted"
    );
  if (memo !== undefined && memo !== paid.memo) return "payment_proof.memo is not the memo on the chain";
  if (amount !== undefined && amount !== paid.amount && amount !== quote.price)
    return "payment_proof.amount_usdc is not the amount on the chain";
  return undefined;
}

function isLate({ finalizedAbove }: ChainPaymentDeps, { expiresAt, price }: Quote, at: number): boolean {
  return at > expiresAt + (price >= finalizedAbove ? FINALITY_GRACE_MS : 0);
}

/** Returns why the payment can never buy the call of its quote. */
function problemOf(
  deps: ChainPaymentDeps,
  quote: Quote,
  receivedAt: number,
  paid: Paid & { memoStepId: string | undefined; paidBy: PaidBy },
): SettledPayment["problem"] {
  const invalid = (message: string) => ({
    code: "INVALID_PAYMENT" as const,
    message: `payment verification failed: ${message}`,
  });
  const { memoStepId } = paid;
  if (memoStepId !== undefined && memoStepId !== stepIdOf(quote.quoteId))
    return invalid("the memo on the chain names another step");
  if (paid.blockTime.getTime() < quote.issuedAt - CLUSTER_CLOCK_MS)
    return invalid("the transaction is older than the quote");
  if (paid.amount < quote.price)
    return invalid(`${displayUsd(paid.amount)} was sent, the price is ${displayUsd(quote.price)}`);
  // A relayed payment was paid when it was claimed; its way to the chain is not the payer's delay.
  const landedLate =
    paid.paidBy === "transfer" && paid.blockTime.getTime() > quote.expiresAt + CLUSTER_CLOCK_MS;
  if (isLate(deps, quote, receivedAt) || landedLate) {
    return {
      code: "QUOTE_EXPIRED" as const,
      message: "the quote has expired; repeat the call without a proof",
    };
  }
  return undefined;
}
