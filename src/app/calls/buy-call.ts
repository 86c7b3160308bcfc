import type { CallContext } from "../../domain/calls/call-context.ts";
import { withChoice } from "../../domain/calls/fingerprint.ts";
import { newId } from "../../domain/core/ids.ts";
import type { Caller } from "../../domain/accounts/caller.ts";
import { inSpan, type Span } from "../../domain/core/span.ts";
import type { Quote, Quotes } from "../../domain/payments/quote.ts";
import type { PreparedCall, Tool } from "../../domain/tools/tool.ts";
import { creditExtraPayment, payQuote, type Buyer } from "../payments/pay-quote.ts";
import type { IdentifiedPayment } from "../payments/payment-method.ts";
import type { PaymentMethods } from "../payments/payment-methods.ts";
import { authorizeCall } from "./authorize-call.ts";
import type { ToolCallResult } from "./call-tool.ts";
import { requirePriceWithinLimit } from "./key-limits.ts";
import type { CallAuthorization, Ledger } from "./ledger.ts";
import { lookUpPriorOutcome, NO_PRIOR } from "./prior-outcome.ts";
import { runAndCapture, type RunDeps } from "./run-and-capture.ts";

export interface BuyDeps extends RunDeps {
  readonly ledger: Ledger;
  readonly quotes: Quotes;
  readonly payments: PaymentMethods;
}

/** A call with its parameters and its proof checked, but for the quote. */
export interface PreparedToolCall {
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

/** Who buys a call. */
export interface CallBuyer extends Buyer {
  /** Whether the caller's account exists: otherwise nothing was bought with it. */
  readonly exists: boolean;
}

/**
 * Runs a call that is charged, or has an idempotency key: looks up the prior outcome, settles the payment,
 * authorizes, runs, captures. One claim, one run, one charge.
 * @throws PaymentRequiredError with a quote; ToolgateError for every other refusal
 */
export async function buyCall(
  deps: BuyDeps,
  call: PreparedToolCall,
  buyer: CallBuyer,
  context: CallContext,
): Promise<ToolCallResult> {
  const quoted = asQuoted(call);
  const { tool, prepared } = quoted;
  const authorized = await inSpan(context.record?.span?.child("authorize"), (span) =>
    authorizePurchase(deps, quoted, buyer, context, span),
  );
  if ("result" in authorized) return authorized;
  const { authorization, holder } = authorized;
  return runAndCapture(deps, { tool, prepared, authorization }, { ...context, caller: holder });
}

/** Returns the call with the choice that its quote seals, whatever would be chosen now. */
function asQuoted(call: PreparedToolCall): PreparedToolCall {
  const { prepared, fingerprint, quote } = call;
  const quoted =
    quote && prepared.choice?.quoted((name) => withChoice(fingerprint, name).equals(quote.fingerprint));
  return quoted ? { ...call, prepared: quoted } : call;
}

/** Settles the payment and authorizes the call. @returns the result of a replay, or what may run */
async function authorizePurchase(
  deps: BuyDeps,
  call: PreparedToolCall,
  buyer: CallBuyer,
  context: CallContext,
  span: Span | undefined,
): Promise<ToolCallResult | { readonly authorization: CallAuthorization; readonly holder: Caller }> {
  const { caller, record } = context;
  const { tool, prepared, fingerprint, idempotencyKey: sentKey, identified, quote, receivedAt } = call;
  // A quoted price stays valid even if this instance charges another price by now.
  const price = quote?.price ?? prepared.price;
  requirePriceWithinLimit(tool.name, caller, price);

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
    budgeted: holder.budgeted,
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
  const authorized = await authorizeCall(deps, tool, authorization, quotedFingerprint);
  if (authorized.kind === "replay") return { result: authorized.result, receipt: authorized.receipt };
  return { authorization, holder };
}
