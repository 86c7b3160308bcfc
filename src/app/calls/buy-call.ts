import { type CallContext, withChoice } from "../../domain/calls/call-context.ts";
import { newId } from "../../domain/core/ids.ts";
import type { Caller } from "../../domain/accounts/caller.ts";
import { inSpan, type Span } from "../../domain/core/span.ts";
import { type Quote, type Quotes, stepIdOf } from "../../domain/payments/quote.ts";
import type { PreparedCall, Tool } from "../../domain/tools/tool.ts";
import { creditExtraPayment, payQuote, type AccountHolder } from "../payments/pay-quote.ts";
import type { IdentifiedPayment, PaymentMethods, CallPayment } from "../payments/payment-methods.ts";
import { type ToolCallResult, runAndCapture, type RunDeps } from "./run-and-capture.ts";
import { callLimitError, limitError, insufficientFunds, priorCallError } from "./refusals.ts";
import type { CallAuthorization, Ledger, AuthorizeResult, PriorQuery } from "./ledger.ts";
import { requireAllowance, type UnpaidWork } from "./unpaid-work.ts";
import type { LimitedCall, LimitReachedError } from "./call-errors.ts";
import type { Receipt } from "../../domain/calls/receipt.ts";
import type { JsonObject } from "../../domain/core/json.ts";

export interface BuyDeps extends RunDeps {
  readonly ledger: Ledger;
  readonly quotes: Quotes;
  readonly payments: PaymentMethods;
}

/** A call with its parameters and its proof checked, but for the quote. */
export interface Purchase {
  readonly buyer: Buyer;
  readonly tool: Tool;
  readonly prepared: PreparedCall;
  readonly fingerprint: Buffer;
  readonly idempotencyKey: string | undefined;
  /** Undefined: to be paid from the balance. */
  readonly identified: IdentifiedPayment | undefined;
  /** Quote of the payment; undefined if there is none or it cannot be opened. */
  readonly quote: Quote | undefined;
  /** Version of the configuration that prices and runs the call. */
  readonly configVersion: number;
  /** Arrival, ms. */
  readonly receivedAt: number;
}

/** Whose call it is. */
export interface Buyer extends AccountHolder {
  readonly caller: Caller;
  /** Whether the caller's account exists: otherwise nothing was bought with it. */
  readonly exists: boolean;
}

/**
 * Runs a call that is charged, or has an idempotency key: looks up the prior outcome, settles the payment,
 * authorizes, runs, captures. One claim, one run, one charge.
 * @throws PaymentRequiredError with a quote; ToolgateError for every other refusal
 */
export async function buyCall(deps: BuyDeps, call: Purchase, context: CallContext): Promise<ToolCallResult> {
  const quoted = asQuoted(call);
  const { tool, prepared } = quoted;
  const authorized = await inSpan(context.record?.span?.child("authorize"), (span) =>
    authorizePurchase(deps, quoted, context, span),
  );
  if ("result" in authorized) return authorized;
  const { authorization, holder } = authorized;
  return runAndCapture(deps, { tool, prepared, authorization }, { ...context, caller: holder });
}

/** Returns the call with the choice that its quote seals, whatever would be chosen now. */
function asQuoted(call: Purchase): Purchase {
  const { prepared, fingerprint, quote } = call;
  const quoted =
    quote && prepared.choice?.quoted((name) => withChoice(fingerprint, name).equals(quote.fingerprint));
  return quoted ? { ...call, prepared: quoted } : call;
}

/** Settles the payment and authorizes the call. @returns the result of a replay, or what may run */
async function authorizePurchase(
  deps: BuyDeps,
  call: Purchase,
  context: CallContext,
  span: Span | undefined,
): Promise<ToolCallResult | { readonly authorization: CallAuthorization; readonly holder: Caller }> {
  const { caller, record } = context;
  const { tool, prepared, fingerprint, idempotencyKey: sentKey, identified, quote, receivedAt, buyer } = call;
  // A quoted price stays valid even if this instance charges another price by now.
  const price = quote?.price ?? prepared.price;
  const limited = { tool: tool.name, price, caller, fingerprint: identified ? undefined : fingerprint };
  const beyond = callLimitError(limited);
  if (beyond) await requireException(deps.ledger, beyond);

  const quotedFingerprint = withChoice(fingerprint, prepared.choice?.name);
  const claim = { accountId: caller.accountId, fingerprint, idempotencyKey: sentKey, span };
  const prior = buyer.exists ? await lookUpPriorOutcome(deps.ledger, claim, identified) : NO_PRIOR;
  if (prior.kind === "replay") {
    if (record) record.caller = caller;
    if (identified && prior.receipt?.txSignature !== identified.reference)
      await creditExtraPayment(deps, { identified, quote, fingerprint: quotedFingerprint, buyer }, context);
    return { result: prior.result, receipt: prior.receipt };
  }

  let { payment } = prior;
  if (prior.kind === "none" && identified) {
    const pay = () =>
      payQuote(deps, { identified, quote, fingerprint: quotedFingerprint, receivedAt, buyer }, context);
    payment = await (span ? span.run(pay) : pay());
  }

  const holder = await buyer.open();
  if (record) record.caller = holder;
  const authorization: CallAuthorization = {
    accountId: holder.accountId,
    keyId: holder.keyId,
    // The ledger takes the exception, or refuses the call after all.
    budgeted: holder.budgeted || beyond !== undefined,
    limitsVersion: holder.limitsVersion,
    runId: newId("run", deps.clock, deps.random, deps.cell?.number),
    requestId: context.requestId,
    tool: tool.name,
    fingerprint,
    price,
    idempotencyKey: sentKey ?? prior.idempotencyKey,
    payment,
    configVersion: call.configVersion,
    span,
  };
  context.signal.throwIfAborted();
  const authorized = await authorizeCall(deps, tool, authorization, {
    quotedTo: buyer.quotedTo,
    quotedFingerprint,
    limited: { ...limited, caller: holder },
  });
  if (authorized.kind === "replay") return { result: authorized.result, receipt: authorized.receipt };
  return { authorization, holder };
}

/** @throws LimitReachedError unless the account holder has allowed the call once */
async function requireException(
  ledger: Pick<Ledger, "isAllowedOnce">,
  beyond: LimitReachedError,
): Promise<void> {
  const { tool, price, caller, fingerprint } = beyond.call;
  const isAllowed =
    beyond.isLiftable &&
    fingerprint !== undefined &&
    (await ledger.isAllowedOnce({ keyId: caller.keyId, tool, price, fingerprint }));
  if (!isAllowed) throw beyond;
}

interface AuthorizeDeps {
  readonly ledger: Ledger;
  readonly quotes: Pick<Quotes, "issue">;
  readonly unpaidWork: Pick<UnpaidWork, "requireAllowance">;
}

/** Started: run, claim and hold are stored. Replay: the same call was charged before. */
type Authorized = Extract<AuthorizeResult, { kind: "started" | "replay" }>;

/** For whom and for what a quote is issued, and the call as limits see it. */
interface Terms {
  readonly quotedTo: string;
  readonly quotedFingerprint: Buffer;
  readonly limited: LimitedCall;
}

/**
 * Claims the call and holds its price.
 * @throws PaymentRequiredError with a quote; ToolgateError for every other refusal
 */
async function authorizeCall(
  deps: AuthorizeDeps,
  tool: Tool,
  call: CallAuthorization,
  { quotedTo, quotedFingerprint, limited }: Terms,
): Promise<Authorized> {
  const { accountId, price, payment } = call;
  // With a claim the ledger may have the result, so the ledger is queried first.
  if (call.idempotencyKey === undefined && !payment) requireAllowance(deps.unpaidWork, tool, accountId);
  const answer = await deps.ledger.authorize(call);
  switch (answer.kind) {
    case "started":
      return answer;
    case "replay":
      // The call was charged while this payment was verified: it is credited to the balance.
      if (payment?.transfer && answer.receipt?.txSignature !== payment.reference)
        await deps.ledger.credit(accountId, payment.transfer);
      return answer;
    case "insufficient": {
      // A call that would be refused gets no quote.
      if (!payment) requireAllowance(deps.unpaidWork, tool, accountId);
      const { name, metered = false } = tool;
      const short = { tool: name, price, metered, balance: answer.balance, proved: payment !== undefined };
      throw insufficientFunds(short, () => deps.quotes.issue(quotedTo, price, quotedFingerprint));
    }
    case "capped":
    case "excluded":
      throw limitError(limited, answer);
    default:
      throw await priorCallError(deps.ledger, accountId, answer);
  }
}

/** Outcome of an earlier call with the same key or proof. */
type PriorLookup =
  | { readonly kind: "none"; readonly payment: undefined; readonly idempotencyKey: undefined }
  | { readonly kind: "replay"; readonly result: JsonObject; readonly receipt: Receipt | undefined }
  /**
   * The payment was credited for this call, which then failed: it runs again under the key of that attempt.
   */
  | {
      readonly kind: "credited";
      readonly payment: CallPayment;
      readonly idempotencyKey: string | undefined;
    };

const NO_PRIOR: PriorLookup = { kind: "none", payment: undefined, idempotencyKey: undefined };

/**
 * Looks up the outcome of an earlier call before expiry, relay and chain are checked. Writes nothing.
 * Without a proof the ledger finds the outcome when it authorizes the call.
 * @throws ToolgateError when the earlier call rules this one out
 */
async function lookUpPriorOutcome(
  ledger: Pick<Ledger, "findPrior" | "balance">,
  claim: Omit<PriorQuery, "network" | "reference" | "quoteId">,
  identified: IdentifiedPayment | undefined,
): Promise<PriorLookup> {
  if (!identified) return NO_PRIOR;
  const { network, reference, quoteId } = identified;
  const prior = await ledger.findPrior({ ...claim, network, reference, quoteId });
  if (!prior) return NO_PRIOR;
  switch (prior.kind) {
    case "replay":
      return prior;
    case "credited": {
      const payment = { network, reference, quoteId, stepId: stepIdOf(quoteId), transfer: undefined };
      return { kind: "credited", payment, idempotencyKey: prior.idempotencyKey };
    }
    default:
      throw await priorCallError(ledger, claim.accountId, prior);
  }
}
