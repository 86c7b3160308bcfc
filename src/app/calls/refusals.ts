import { ToolgateError } from "../../domain/core/errors.ts";
import { displayUsd, type MicroUsd } from "../../domain/core/money.ts";
import type { Quote } from "../../domain/payments/quote.ts";
import { allowsTool, type Caller } from "../../domain/accounts/caller.ts";
import type { Tool } from "../../domain/tools/tool.ts";
import {
  type LimitedCall,
  LimitReachedError,
  MissingScopeError,
  PaymentRequiredError,
} from "./call-errors.ts";
import type { AuthorizeResult, Ledger, LimitRefusal } from "./ledger.ts";

/** A refusal because of an earlier call or payment. */
type PriorRefusal = Exclude<
  AuthorizeResult,
  { kind: "started" | "insufficient" | LimitRefusal["kind"] | "replay" }
>;

/** Maps a refusal to a client error. */
export async function priorCallError(
  ledger: Pick<Ledger, "balance">,
  accountId: string,
  { kind }: PriorRefusal,
): Promise<ToolgateError> {
  switch (kind) {
    case "in_progress":
      return new ToolgateError(
        "REQUEST_IN_PROGRESS",
        "the same call is running; repeat it shortly to get its result",
        { retryAfterSeconds: 1 },
      );
    case "mismatch":
      return new ToolgateError(
        "IDEMPOTENCY_MISMATCH",
        "idempotency_key: was used with another tool or other params; use a new key for a new call",
      );
    case "frozen":
      return new ToolgateError(
        "UNAVAILABLE",
        "the account is being moved to another server; nothing was charged, repeat the call shortly",
        { retryAfterSeconds: 1 },
      );
    case "payment_used":
      return invalid(
        "the transaction was used for another call, or is a deposit, which pays no call by itself; " +
          "repeat the call without a proof to use the balance",
      );
    case "quote_paid":
      return invalid(
        "the quote was paid before by another transaction; this one was credited to your balance, " +
          "repeat the call without a proof to use it",
      );
    case "unassigned":
      return invalid(
        "the transfer names no quote of this gateway and buys no call. Send the transaction signature " +
          "to the operator, who credits such transfers to their payers; then repeat the call without a " +
          "proof",
      );
    case "reversed":
      return invalid(
        "the transaction vanished from the chain and its credit was reversed; nothing was charged for " +
          `this call, and your balance is ${displayUsd(await ledger.balance(accountId))}. Repeat the ` +
          "call without a proof and pay the new quote",
      );
  }
}

/** A call whose price exceeds the balance. */
interface UnaffordableCall {
  readonly tool: string;
  /** Micro-USD. */
  readonly price: MicroUsd;
  /** Whether less than the price may be charged. */
  readonly metered: boolean;
  /** Micro-USD, including the payment sent with the call. */
  readonly balance: MicroUsd;
  readonly proved: boolean;
}

/**
 * Returns the error for insufficient funds. Offers a quote only without a proof and without a debt: a client
 * that pays on every 402 would pay again and again.
 */
export function insufficientFunds(
  { tool, price, metered, balance, proved }: UnaffordableCall,
  quote: () => Quote,
): ToolgateError {
  const costs = `costs ${metered ? "at most " : ""}${displayUsd(price)}`;
  const figures = `the balance is ${displayUsd(balance)} and this call ${costs}`;
  if (balance < 0n) {
    const credited = proved ? "The payment that came with it was credited. " : "";
    return new ToolgateError(
      "FORBIDDEN",
      `${figures}: ${displayUsd(price - balance)} is missing, because a payment that was spent ` +
        `vanished from the chain and was reversed. ${credited}Paid calls are blocked until a deposit ` +
        "covers it; free calls work. Deposit USDC and repeat the call unchanged, or ask the operator",
    );
  }
  if (proved) {
    return invalid(
      "the payment was credited to your balance, but other calls or a reversed payment have used it: " +
        `${figures}. Repeat the call without a proof and pay the new quote, or deposit USDC`,
    );
  }
  return new PaymentRequiredError(
    tool,
    quote(),
    `This call ${costs} and the balance is ${displayUsd(balance)}: pay the quote ` +
      "and repeat the call with the proof, or deposit USDC" +
      (metered ? ". What the call does not use stays on your balance" : ""),
  );
}

function invalid(reason: string): ToolgateError {
  return new ToolgateError("INVALID_PAYMENT", `payment verification failed: ${reason}`);
}

/** Checks the key's scopes and tools. Applies to free calls too. @throws ToolgateError FORBIDDEN */
export function requireToolAccess({ name, scope }: Tool, caller: Caller): void {
  if (scope !== undefined && !caller.scopes.has(scope))
    throw new MissingScopeError(scope, caller, `, which ${name} needs`);
  if (!allowsTool(caller, name)) {
    const tools = [...(caller.limits?.tools ?? [])].join(", ");
    throw forbidden(`the API key is limited to the tools ${tools}; use a key that may call ${name}`);
  }
}

/** Returns the error of a call above the key's limit per call, for every payment method; undefined: below. */
export function callLimitError(call: LimitedCall): LimitReachedError | undefined {
  const limit = call.caller.limits?.perCall;
  if (limit === undefined || call.price <= limit) return undefined;
  const counted = { group: undefined, spent: 0n, resetsAt: undefined, reported: true };
  return new LimitReachedError(call, { period: "call", limit, ...counted });
}

/** The error of a call that the ledger refused. Limits may have changed since the key was authenticated. */
export function limitError(call: LimitedCall, refusal: LimitRefusal): ToolgateError {
  return refusal.kind === "capped"
    ? new LimitReachedError(call, refusal.limit)
    : forbidden(`the API key may no longer call ${call.tool}; use a key that may`);
}

function forbidden(message: string): ToolgateError {
  return new ToolgateError("FORBIDDEN", message);
}
