import { ToolgateError } from "../../domain/core/errors.ts";
import { displayUsd, type MicroUsd } from "../../domain/core/money.ts";
import { PaymentRequiredError } from "./payment-required-error.ts";
import type { AuthorizeResult, Ledger } from "./ledger.ts";
import type { Quote } from "../../domain/payments/quote.ts";

/** A verdict of the ledger by which nothing runs, because of what was before. */
export type PriorRefusal = Exclude<
  AuthorizeResult,
  { kind: "started" | "insufficient" | "capped" | "replay" }
>;

/** What a caller is told of a call that cannot run because of what was before: what happened, and what to do. */
export async function priorCallError(
  ledger: Pick<Ledger, "balance">,
  accountId: string,
  { kind }: PriorRefusal,
): Promise<ToolgateError> {
  switch (kind) {
    case "in_progress":
      return new ToolgateError(
        "REQUEST_IN_PROGRESS",
        "the same call is running; repeat it in a moment to get its result",
        { retryAfterSeconds: 1 },
      );
    case "mismatch":
      return new ToolgateError(
        "IDEMPOTENCY_MISMATCH",
        "idempotency_key: was used with another tool or other params; use a new key for a new call",
      );
    case "payment_used":
      return invalid(
        "the transaction was used for another call, or is a deposit, which is on the balance and pays no call by itself; repeat the call without a proof to use the balance",
      );
    case "quote_paid":
      return invalid(
        "the quote was paid before by another transaction; this one was credited to your balance, repeat the call without a proof to use it",
      );
    case "unassigned":
      return invalid(
        "the transfer names no quote of ours, so that it buys no call: the operator gives such transfers to the balance of their payers. Ask there, with the transaction signature; once you have it, repeat the call without a proof",
      );
    case "reversed":
      return invalid(
        `the transaction vanished from the chain, and its credit was taken back; nothing was charged for this call, and your balance is ${displayUsd(await ledger.balance(accountId))}. Repeat the call without a proof and pay the new quote`,
      );
  }
}

/** A call that the balance does not cover. */
export interface UnaffordableCall {
  readonly tool: string;
  /** Micro-USD. */
  readonly price: MicroUsd;
  /** Micro-USD; what a payment that came with the call brought is in it. */
  readonly balance: MicroUsd;
  /** Whether the call came with a proof. */
  readonly proved: boolean;
}

/**
 * What a caller is told whose balance does not cover the call. A quote is offered only to who has sent no proof and owes nothing,
 * so that a client which takes every 402 for an invitation to pay does not pay again and again.
 */
export function insufficientFunds(
  { tool, price, balance, proved }: UnaffordableCall,
  quote: () => Quote,
): ToolgateError {
  const figures = `the balance is ${displayUsd(balance)} and this call costs ${displayUsd(price)}`;
  if (balance < 0n) {
    const credited = proved ? "The payment that came with it was credited. " : "";
    return new ToolgateError(
      "FORBIDDEN",
      `${figures}: ${displayUsd(price - balance)} is missing, because a payment that was spent vanished from the chain and was taken back. ${credited}Paid calls are blocked until a deposit covers it, then repeat this one as it is; free calls go on. Deposit USDC, or ask the operator`,
    );
  }
  if (proved) {
    return invalid(
      `the payment was credited to your balance, but other calls or a payment that was taken back have used it: ${figures}. Repeat the call without a proof and pay the new quote, or deposit USDC`,
    );
  }
  return new PaymentRequiredError(
    tool,
    quote(),
    `This call costs ${displayUsd(price)} and the balance is ${displayUsd(balance)}: pay the quote and repeat the call with the proof, or deposit USDC`,
  );
}

function invalid(reason: string): ToolgateError {
  return new ToolgateError("INVALID_PAYMENT", `payment verification failed: ${reason}`);
}
