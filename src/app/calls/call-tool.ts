import { fingerprint } from "../../domain/calls/fingerprint.ts";
import type { Receipt } from "../../domain/calls/receipt.ts";
import { invalidField } from "../../domain/core/errors.ts";
import { newId } from "../../domain/core/ids.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import type { Quotes } from "../../domain/payments/quote.ts";
import type { Proof, ProofCarriers } from "../../domain/payments/proof.ts";
import type { PreparedCall, Tool } from "../../domain/tools/tool.ts";
import { creditExtraPayment, payQuote } from "../payments/pay-quote.ts";
import type { PaymentMethods } from "../payments/payment-methods.ts";
import { authorizeCall } from "./authorize-call.ts";
import type { CallContext } from "../../domain/calls/call-context.ts";
import type { Catalogue } from "./catalogue.ts";
import { dailyBudgetOf, requirePriceWithinLimit, requireToolAccess } from "./key-limits.ts";
import type { CallAuthorization, Ledger } from "./ledger.ts";
import { lookUpPriorOutcome } from "./prior-outcome.ts";
import { runAndCapture, type RunDeps } from "./run-and-capture.ts";

/** A call as any transport receives it. */
export interface ToolCall extends ProofCarriers {
  readonly tool: string;
  readonly params: JsonObject;
  readonly idempotencyKey: string | undefined;
}

export interface ToolCallResult {
  readonly result: JsonObject;
  /** Undefined for a free call. */
  readonly receipt: Receipt | undefined;
}

export interface CallToolDeps extends RunDeps {
  readonly catalogue: Catalogue;
  readonly ledger: Ledger;
  readonly quotes: Quotes;
  readonly payments: PaymentMethods;
}

/**
 * The one path of a tool call: resolve the tool, check limits, identify the proof, look up the prior outcome,
 * settle the payment, authorize, run, capture.
 * Checks run in the order of docs/reference/decisions.md, "order of checks".
 * @throws PaymentRequiredError with a quote; ToolgateError for every other refusal
 */
export function callTool(
  deps: CallToolDeps,
  call: ToolCall,
  context: CallContext,
): ToolCallResult | Promise<ToolCallResult> {
  const receivedAt = deps.clock.now();
  const tool = deps.catalogue.resolve(call.tool);
  requireToolAccess(tool, context.caller);
  const prepared = tool.prepare(call.params);
  return tool.billable || call.idempotencyKey !== undefined
    ? callOnce(deps, { ...call, tool, prepared, receivedAt }, context)
    : callFreely(prepared, context);
}

/** Runs a free call without a claim: nothing is stored, and nothing awaited that the tool does not await. */
function callFreely(
  prepared: PreparedCall,
  { caller, signal, progress }: CallContext,
): ToolCallResult | Promise<ToolCallResult> {
  const run = { runId: undefined, idempotencyKey: undefined, signal, caller, progress };
  const result = prepared.run(run);
  return result instanceof Promise ? result.then(freeResult) : freeResult(result);
}

/** Copies the result: a tool may change its own object before it is sent. */
function freeResult(result: JsonObject): ToolCallResult {
  return { result: { ...result }, receipt: undefined };
}

interface PreparedToolCall extends Omit<ToolCall, "tool"> {
  readonly tool: Tool;
  readonly prepared: PreparedCall;
  /** Timestamp, ms. */
  readonly receivedAt: number;
}

/** Runs a call that is charged, or has an idempotency key: one claim, one run, one charge. */
async function callOnce(
  deps: CallToolDeps,
  call: PreparedToolCall,
  context: CallContext,
): Promise<ToolCallResult> {
  const { caller } = context;
  const { accountId, keyId } = caller;
  const { tool, prepared, receivedAt } = call;
  const print = fingerprint(tool.name, call.params);
  const proof = tool.billable ? deps.payments.parse(call) : undefined;
  const sentKey = idempotencyKeyOf(call, proof);
  const listPrice = prepared.price;
  const identified = proof && (await deps.payments.identify(proof));
  const quote = identified && deps.quotes.open(identified.quoteId);
  // A quoted price stays valid even if this instance charges another price by now.
  const price = quote?.price ?? listPrice;
  requirePriceWithinLimit(tool.name, caller, price);

  const claim = { accountId, fingerprint: print, idempotencyKey: sentKey };
  const prior = await lookUpPriorOutcome(deps.ledger, claim, identified);
  if (prior.kind === "replay") {
    if (identified && prior.receipt?.txSignature !== identified.reference)
      await creditExtraPayment(deps, { identified, quote, fingerprint: print }, context);
    return { result: prior.result, receipt: prior.receipt };
  }

  let { payment } = prior;
  if (prior.kind === "none" && identified)
    payment = await payQuote(deps, { identified, quote, fingerprint: print, receivedAt }, context);

  const authorization: CallAuthorization = {
    accountId,
    keyId,
    budget: dailyBudgetOf(caller),
    runId: newId("run", deps.clock, deps.random),
    tool: tool.name,
    fingerprint: print,
    price,
    idempotencyKey: sentKey ?? prior.idempotencyKey,
    payment,
  };
  context.signal.throwIfAborted();
  const authorized = await authorizeCall(deps, tool, authorization);
  if (authorized.kind === "replay") return { result: authorized.result, receipt: authorized.receipt };
  return runAndCapture(deps, { tool, prepared, authorization }, context);
}

/**
 * Returns the idempotency key of the call or of its x402 payload.
 * @throws ToolgateError INVALID_REQUEST when they differ
 */
function idempotencyKeyOf(
  { idempotencyKey }: Pick<ToolCall, "idempotencyKey">,
  proof: Proof | undefined,
): string | undefined {
  const paymentId = proof?.paymentId;
  if (paymentId !== undefined && idempotencyKey !== undefined && paymentId !== idempotencyKey)
    throw invalidField(
      "idempotency_key",
      "differs from the payment-identifier of the x402 payload; send one of them",
    );
  return idempotencyKey ?? paymentId;
}
