import type { ExceededLimit } from "../../domain/accounts/budget.ts";
import type { Caller } from "../../domain/accounts/caller.ts";
import type { Scope } from "../../domain/accounts/scope.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { displayUsd, type MicroUsd } from "../../domain/core/money.ts";
import type { Quote } from "../../domain/payments/quote.ts";

/** A call that a limit of its key, or of the key's group, refuses. */
export interface LimitedCall {
  readonly tool: string;
  /** Micro-USD. */
  readonly price: MicroUsd;
  readonly caller: Caller;
  /** Undefined: the call is only priced, or the balance does not pay it. */
  readonly fingerprint: Buffer | undefined;
}

/** What the account holder has to do with a refused call of an application. */
type Approval = { readonly url: string } | "refused";

/** FORBIDDEN by a limit of the key or its group. Offers no quote: the account holder set the limit. */
export class LimitReachedError extends ToolgateError {
  readonly limit: ExceededLimit;
  readonly call: LimitedCall;
  /** Page of the console on which the account holder can allow the call. */
  readonly approvalUrl: string | undefined;

  constructor(call: LimitedCall, limit: ExceededLimit, approval?: Approval) {
    const isApp = call.caller.viaOAuth === true;
    super(
      "FORBIDDEN",
      `${rule(limit, isApp)}${figures(call, limit)}${remedy(call, limit, isApp)}${outcome(approval)}`,
    );
    this.limit = limit;
    this.call = call;
    this.approvalUrl = typeof approval === "object" ? approval.url : undefined;
  }

  /** Whether the account holder can allow the call once: an application's own limit refuses it. */
  get isLiftable(): boolean {
    const { caller, fingerprint } = this.call;
    return caller.viaOAuth === true && fingerprint !== undefined && this.limit.group === undefined;
  }

  /** Returns the error that also says what the account holder decided, or where. */
  with(approval: Approval): LimitReachedError {
    return new LimitReachedError(this.call, this.limit, approval);
  }
}

const PERIODS = { day: "a day", month: "a month", total: "in all" } as const;

function rule({ group, period, limit }: ExceededLimit, isApp: boolean): string {
  const own = isApp ? "the application’s grant" : "the API key";
  if (period === "call") return `${own} is limited to ${displayUsd(limit)} a call, and `;
  const who = group ? `the keys of the group “${group.name}”` : own;
  return `${who} may take ${displayUsd(limit)} ${PERIODS[period]} from the balance, `;
}

function figures({ tool, price }: LimitedCall, { period, spent }: ExceededLimit): string {
  return period === "call"
    ? `this call of ${tool} costs ${displayUsd(price)}; `
    : `${displayUsd(spent)} is spent, and this call of ${tool} costs ${displayUsd(price)}: `;
}

function remedy({ price }: LimitedCall, { period, limit, resetsAt }: ExceededLimit, isApp: boolean): string {
  const raise = "have the account holder raise the limit";
  if (period === "call" || price > limit)
    return `ask for less, or ${isApp ? raise : "use a key with a higher limit"}`;
  if (!resetsAt) return isApp ? raise : "raise the limit, or use another key";
  const day = period === "day" ? "" : `on ${resetsAt.toISOString().slice(0, 10)} `;
  return `the limit resets ${day}at 00:00 UTC. Repeat the call then, or ${isApp ? raise : "use another key"}`;
}

function outcome(approval: Approval | undefined): string {
  if (approval === undefined) return "";
  if (approval === "refused") return ". The account holder refused this call";
  return `. The account holder can allow this call at ${approval.url}; repeat it then`;
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
