import { ToolgateError } from "../domain/errors.ts";
import { parseMemo } from "../domain/memo.ts";
import { displayUsd, type MicroUsd } from "../domain/money.ts";
import type { Proof } from "../domain/proof.ts";
import { stepIdOf, type Quote, type Quotes } from "../domain/quote.ts";
import type { Clock } from "../domain/clock.ts";
import type { CallContext, CallPayment, Chain, ChainVerdict, Deposit, Ledger } from "./ports.ts";

/** How far the cluster's clock may be from ours, ms: a transaction stamped earlier than its quote by more than this cannot be its payment. */
const CLUSTER_CLOCK_MS = 60_000;

/** What settling a proof needs. */
export interface SettleDeps {
  readonly ledger: Ledger;
  readonly chain: Chain;
  readonly quotes: Quotes;
  readonly clock: Clock;
  readonly memoPrefix: string;
}

type Paid = Extract<ChainVerdict, { kind: "paid" }>;

/** Opens the quote that a proof names and checks that it belongs to this caller and this call; consumes nothing. */
export function openQuote(deps: SettleDeps, proof: Proof, accountId: string, fingerprint: Buffer): Quote {
  const quote = deps.quotes.open(proof.quoteId);
  if (!quote) throw refused("the quote is not one of ours; use the quote_id of the 402 answer, unchanged");
  if (quote.accountId !== accountId) throw refused("the quote was issued to another account");
  if (!quote.binding.equals(fingerprint.subarray(0, 16))) {
    throw refused("the quote was issued for another tool or other params; repeat the call exactly as it was quoted");
  }
  if (proof.claimed.stepId !== undefined && proof.claimed.stepId !== stepIdOf(quote.quoteId)) {
    throw refused("step_id does not belong to the quote");
  }
  return quote;
}

/**
 * Turns a proof into money: looks the transaction up, then checks it against the quote. Whatever reached the treasury and names
 * one of our quotes is credited to that quote's account, also when the call is refused.
 * @returns the payment, ready to be credited and held with the call
 * @throws ToolgateError INVALID_PAYMENT, QUOTE_EXPIRED or UNAVAILABLE
 */
export async function settle(
  deps: SettleDeps,
  proof: Proof,
  quote: Quote,
  receivedAt: number,
  context: CallContext,
): Promise<CallPayment> {
  const verdict = await deps.chain.verify({ txSignature: proof.txSignature, signal: context.signal });
  const paid = expectPaid(verdict);
  const memo = parseMemo(paid.memo, deps.memoPrefix);
  const named = memo && (memo.quoteId === quote.quoteId ? quote : deps.quotes.open(memo.quoteId));
  if (!memo || !named)
    throw refused("the memo on the chain names no quote of ours; the operator can assign the transfer");
  const deposit = depositOf(proof.txSignature, named.quoteId, paid);
  const problem = problemOf(
    proof,
    quote,
    receivedAt,
    paid,
    memo.quoteId,
    memo.form === "step" ? memo.stepId : undefined,
  );
  if (!problem)
    return { txSignature: proof.txSignature, quoteId: quote.quoteId, stepId: stepIdOf(quote.quoteId), deposit };
  const { credited } = await deps.ledger.credit(named.accountId, deposit);
  throw new ToolgateError(
    problem.code,
    `${problem.message}; ${whereItWent(credited, named.accountId === context.caller.accountId, paid.amount)}`,
  );
}

function expectPaid(verdict: ChainVerdict): Paid {
  switch (verdict.kind) {
    case "paid":
      return verdict;
    case "refused":
      throw refused(verdict.reason);
    case "not_found":
      throw new ToolgateError(
        "INVALID_PAYMENT",
        "payment verification failed: the transaction is not on the chain yet; wait until it is confirmed and repeat the call with the same proof (quote and proof stay unused)",
        { retryAfterSeconds: 2 },
      );
    case "not_finalized":
      throw new ToolgateError(
        "PAYMENT_PENDING",
        "a payment of this size must be finalized first; repeat the call with the same proof",
        {
          retryAfterSeconds: 5,
        },
      );
  }
}

/** Which check of the payment against its quote fails, in the order in which a payer can mend them. */
function problemOf(
  proof: Proof,
  quote: Quote,
  receivedAt: number,
  paid: Paid,
  memoQuoteId: string,
  memoStepId: string | undefined,
) {
  const invalid = (message: string) => ({
    code: "INVALID_PAYMENT" as const,
    message: `payment verification failed: ${message}`,
  });
  if (memoQuoteId !== quote.quoteId) return invalid("the memo on the chain names another quote");
  if (memoStepId !== undefined && memoStepId !== stepIdOf(quote.quoteId))
    return invalid("the memo on the chain names another step");
  if (proof.claimed.memo !== undefined && proof.claimed.memo !== paid.memo)
    return invalid("payment_proof.memo is not the memo on the chain");
  if (paid.blockTime.getTime() < quote.issuedAt - CLUSTER_CLOCK_MS)
    return invalid("the transaction is older than the quote");
  if (
    proof.claimed.amount !== undefined &&
    proof.claimed.amount !== paid.amount &&
    proof.claimed.amount !== quote.price
  ) {
    return invalid("payment_proof.amount_usdc is not the amount on the chain");
  }
  if (paid.amount < quote.price)
    return invalid(`${displayUsd(paid.amount)} was sent, the price is ${displayUsd(quote.price)}`);
  if (receivedAt > quote.expiresAt || paid.blockTime.getTime() > quote.expiresAt + CLUSTER_CLOCK_MS) {
    return { code: "QUOTE_EXPIRED" as const, message: "the quote has expired; repeat the call without a proof" };
  }
  return undefined;
}

function depositOf(txSignature: string, quoteId: string, paid: Paid): Deposit {
  const { amount, payer, slot, blockTime, finalized } = paid;
  return { txSignature, quoteId, amount, payer, slot, blockTime, finalized, paidBy: "transfer" };
}

function whereItWent(credited: boolean, own: boolean, amount: MicroUsd): string {
  if (!own) return "the transfer belongs to the account that the memo's quote was issued to";
  return credited
    ? `${displayUsd(amount)} was credited to your balance`
    : "the transfer had been credited to your balance before";
}

function refused(reason: string): ToolgateError {
  return new ToolgateError("INVALID_PAYMENT", `payment verification failed: ${reason}`);
}
