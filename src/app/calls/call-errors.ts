import type { ExceededLimit } from "../../domain/accounts/budget.ts";
import type { Caller } from "../../domain/accounts/caller.ts";
import type { Scope } from "../../domain/accounts/scope.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { displayUsd, type MicroUsd } from "../../domain/core/money.ts";
import type { Quote } from "../../domain/payments/quote.ts";

/** FORBIDDEN by a limit of the key or its group. Offers no quote: the account holder set the limit. */
export class LimitReachedError extends ToolgateError {
  readonly limit: ExceededLimit;
  /** Price of the refused call, micro-USD. */
  readonly price: MicroUsd;

  constructor(tool: string, price: MicroUsd, limit: ExceededLimit) {
    super("FORBIDDEN", `${rule(limit)}${figures(tool, price, limit)}${remedy(price, limit)}`);
    this.limit = limit;
    this.price = price;
  }
}

const PERIODS = { day: "a day", month: "a month", total: "in all" } as const;

function rule({ group, period, limit }: ExceededLimit): string {
  if (period === "call") return `the API key is limited to ${displayUsd(limit)} a call, and `;
  const who = group ? `the keys of the group “${group.name}”` : "the API key";
  return `${who} may take ${displayUsd(limit)} ${PERIODS[period]} from the balance, `;
}

function figures(tool: string, price: MicroUsd, { period, spent }: ExceededLimit): string {
  return period === "call"
    ? `this call of ${tool} costs ${displayUsd(price)}; `
    : `${displayUsd(spent)} is spent, and this call of ${tool} costs ${displayUsd(price)}: `;
}

function remedy(price: MicroUsd, { period, limit, resetsAt }: ExceededLimit): string {
  if (period === "call" || price > limit) return "ask for less, or use a key with a higher limit";
  if (!resetsAt) return "raise the limit, or use another key";
  const day = period === "day" ? "" : `on ${resetsAt.toISOString().slice(0, 10)} `;
  return `the limit resets ${day}at 00:00 UTC. Repeat the call then, or use another key`;
}

/** FORBIDDEN: the caller lacks a scope. */
export class MissingScopeError extends ToolgateError {
  /** Scopes to ask the person for (RFC 6750 section 3.1); undefined for an API key. */
  readonly wanted: string | undefined;

  constructor(scope: Scope, { viaOAuth = false, scopes }: Caller, what = "") {
    super(
      "FORBIDDEN",
      viaOAuth
        ? `the access token lacks the scope ${scope}${what}; connect the application again and allow it`
        : `the API key lacks the scope ${scope}${what}; use a key that has it`,
    );
    this.wanted = viaOAuth ? [...scopes, scope].join(" ") : undefined;
  }
}

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

/** The call failed after its payment was credited. The same call with the same proof uses the credit. */
export class PaymentCreditedError extends ToolgateError {
  readonly txSignature: string;

  constructor(failure: ToolgateError, txSignature: string) {
    const { code, message, status, rpc, retryAfterSeconds, refusal, cause } = failure;
    super(
      code,
      `${message}; your payment is on your balance, and the same call with the same proof uses it ` +
        "without another payment",
      {
        status,
        rpc,
        ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
        ...(refusal && { refusal }),
        cause,
      },
    );
    this.txSignature = txSignature;
  }
}
