import { DEPOSIT_PAYS_NO_CALL } from "../../domain/payments/body-proof.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { parseMemo } from "../../domain/payments/memo.ts";
import { displayUsd, type MicroUsd } from "../../domain/core/money.ts";
import { stepIdOf, type Quote, type Quotes } from "../../domain/payments/quote.ts";
import type { Clock } from "../../domain/core/clock.ts";
import type { IdentifiedPayment } from "./gasless/gasless-method.ts";
import { paymentPending } from "./gasless/relay-errors.ts";
import type { CallContext } from "../calls/call-context.ts";
import type { CallPayment, VerifiedTransfer, Ledger } from "../calls/ledger.ts";
import type { PaymentVerifier, PaymentVerdict } from "./payment-verifier.ts";

/** Tolerance between the cluster's clock and ours, ms: a transaction older than its quote cannot pay it. */
const CLUSTER_CLOCK_MS = 60_000;

/** Grace period after a quote's expiry for payments that must be finalized first, ms. */
const FINALITY_GRACE_MS = 120_000;

/** Dependencies of settling a proof. */
export interface SettleDeps {
  readonly ledger: Ledger;
  readonly chain: PaymentVerifier;
  readonly quotes: Quotes;
  readonly clock: Clock;
  readonly memoPrefix: string;
  /** FINALIZED_ABOVE_MICROUSD: payments from this amount on count only once they are finalized. */
  readonly finalizedAbove: MicroUsd;
}

type Paid = Extract<PaymentVerdict, { kind: "paid" }>;

/**
 * Checks that the quote of a proof belongs to this caller and this call; consumes nothing.
 * @param quote undefined if it could not be opened
 */
export function requireQuote(
  quote: Quote | undefined,
  proof: IdentifiedPayment,
  accountId: string,
  fingerprint: Buffer,
): Quote {
  if (!quote)
    throw refused(
      "the quote was not issued by this gateway; use the quote_id of the 402 response, unchanged",
    );
  if (quote.accountId !== accountId) throw refused("the quote was issued to another account");
  if (!quote.fingerprint.equals(fingerprint)) {
    throw refused(
      "the quote was issued for another tool or other params; repeat the call exactly as it was quoted",
    );
  }
  if (proof.stated.stepId !== undefined && proof.stated.stepId !== stepIdOf(quote.quoteId)) {
    throw refused("step_id does not belong to the quote");
  }
  return quote;
}

/**
 * Verifies the transaction and checks it against the quote. Credits the quote's account at once when the
 * payment is too small or too late for the call.
 * @param receivedAt when the payer handed it over, ms
 * @returns the payment, ready to be credited and held with the call
 * @throws ToolgateError INVALID_PAYMENT, QUOTE_EXPIRED, PAYMENT_PENDING or UNAVAILABLE
 */
export async function settlePayment(
  deps: SettleDeps,
  proof: IdentifiedPayment,
  quote: Quote,
  receivedAt: number,
  context: CallContext,
): Promise<CallPayment> {
  if (!proof.unsent && isLate(deps, quote, receivedAt)) {
    throw new ToolgateError(
      "QUOTE_EXPIRED",
      "the quote has expired; a payment made for it is credited to your balance once it is finalized, within a minute. Then repeat the call without a proof to pay from the balance",
    );
  }
  const { paid, memoStepId, deposit } = await lookUp(deps, proof, quote, context);
  const problem = problemOf(deps, quote, receivedAt, { ...paid, memoStepId, paidBy: deposit.paidBy });
  if (!problem)
    return {
      txSignature: proof.txSignature,
      quoteId: quote.quoteId,
      stepId: stepIdOf(quote.quoteId),
      transfer: deposit,
    };
  const { credited } = await deps.ledger.credit(quote.accountId, deposit);
  throw new ToolgateError(problem.code, `${problem.message}; ${whereItWent(credited, paid.amount)}`);
}

/**
 * Credits a payment that comes with a call which was charged before. A payment that cannot be verified is no
 * error and stays usable. An unsent transaction is not sent; the relay job finishes one that was sent before.
 */
export async function creditExtraPayment(
  deps: SettleDeps,
  proof: IdentifiedPayment,
  named: Quote | undefined,
  fingerprint: Buffer,
  context: CallContext,
): Promise<void> {
  if (proof.unsent) return;
  try {
    const quote = requireQuote(named, proof, context.caller.accountId, fingerprint);
    if (isLate(deps, quote, deps.clock.now())) return;
    const { deposit } = await lookUp(deps, proof, quote, context);
    await deps.ledger.credit(quote.accountId, deposit);
  } catch (error) {
    if (!(error instanceof ToolgateError) && !context.signal.aborted) throw error;
  }
}

/** Reads the payment from the chain. @throws ToolgateError INVALID_PAYMENT or UNAVAILABLE */
async function lookUp(deps: SettleDeps, proof: IdentifiedPayment, quote: Quote, context: CallContext) {
  const { unsent, txSignature } = proof;
  const accountId = unsent ? undefined : context.caller.accountId;
  const verdict = await deps.chain
    .verify({ txSignature, accountId, signal: context.signal })
    .catch((error: unknown) => {
      // Already broadcast: reporting a failure here could make the client pay twice.
      throw unsent && error instanceof ToolgateError && error.code === "UNAVAILABLE"
        ? paymentPending(error)
        : error;
    });
  const paid = expectPaid(verdict, proof);
  const memo = parseMemo(paid.memo, deps.memoPrefix);
  if (memo?.form === "deposit") throw refused(`the memo on the chain ${DEPOSIT_PAYS_NO_CALL}`);
  if (!memo || (memo.quoteId !== quote.quoteId && !deps.quotes.open(memo.quoteId)))
    throw refused(
      "the memo on the chain names no quote of this gateway; the operator can assign the transfer",
    );
  const mismatch = mismatchOf(proof, quote, paid, memo.quoteId);
  if (mismatch !== undefined) throw refused(`${mismatch}; nothing was consumed`);
  const deposit = depositOf(proof, quote.quoteId, paid);
  return { paid, memoStepId: memo.form === "step" ? memo.stepId : undefined, deposit };
}

function expectPaid(verdict: PaymentVerdict, { unsent }: IdentifiedPayment): Paid {
  switch (verdict.kind) {
    case "paid":
      return verdict;
    case "refused":
      throw refused(verdict.reason);
    case "not_found":
      if (unsent)
        throw new ToolgateError(
          "PAYMENT_PENDING",
          "your transaction was sent and is not visible everywhere yet; repeat the call with the same proof, and do not pay again",
          { retryAfterSeconds: 2 },
        );
      throw new ToolgateError(
        "INVALID_PAYMENT",
        "payment verification failed: the transaction is not on the chain yet; wait until it is confirmed and repeat the call with the same proof (quote and proof stay unused)",
        { retryAfterSeconds: 2 },
      );
    case "not_finalized":
      throw new ToolgateError(
        "PAYMENT_PENDING",
        "a payment of this size must be finalized first; repeat the call with the same proof, and do not pay again",
        { retryAfterSeconds: 5 },
      );
  }
}

/**
 * Returns how the proof differs from the chain. Such a proof is refused and consumes nothing, so that a
 * stranger who sees the payment on the chain cannot spend it on a wrong call.
 */
function mismatchOf(
  proof: IdentifiedPayment,
  quote: Quote,
  paid: Paid,
  memoQuoteId: string,
): string | undefined {
  const { memo, amount } = proof.stated;
  if (memoQuoteId !== quote.quoteId)
    return "the memo on the chain names another quote; send the quote_id that it names, from the account that was quoted";
  if (memo !== undefined && memo !== paid.memo) return "payment_proof.memo is not the memo on the chain";
  if (amount !== undefined && amount !== paid.amount && amount !== quote.price)
    return "payment_proof.amount_usdc is not the amount on the chain";
  return undefined;
}

/**
 * Whether a proof is too late to buy the call. The chain is not queried for it, or one expired quote would
 * allow unlimited queries; the treasury watch credits the payment to the balance.
 */
function isLate({ finalizedAbove }: SettleDeps, { expiresAt, price }: Quote, at: number): boolean {
  return at > expiresAt + (price >= finalizedAbove ? FINALITY_GRACE_MS : 0);
}

/** Returns why the payment can never buy the call of its quote. */
function problemOf(
  deps: SettleDeps,
  quote: Quote,
  receivedAt: number,
  paid: Paid & { memoStepId: string | undefined; paidBy: VerifiedTransfer["paidBy"] },
) {
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
  // A relayed payment counts from when we accepted it: its landing time is not the payer's fault.
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

function depositOf(
  { txSignature, unsent }: IdentifiedPayment,
  quoteId: string,
  paid: Paid,
): VerifiedTransfer {
  const { amount, payer, slot, blockTime, finalized } = paid;
  const paidBy = unsent ? "gasless" : "transfer";
  return { txSignature, quoteId, amount, payer, slot, blockTime, finalized, paidBy };
}

function whereItWent(credited: boolean, amount: MicroUsd): string {
  return credited
    ? `${displayUsd(amount)} was credited to your balance`
    : "the transfer had been credited to your balance before";
}

function refused(reason: string): ToolgateError {
  return new ToolgateError("INVALID_PAYMENT", `payment verification failed: ${reason}`);
}
