import type { Caller } from "../../domain/accounts/caller.ts";
import { bodyWithoutNulls, withoutNulls } from "../../domain/calls/absent.ts";
import { type CallRecord, fingerprint, withChoice } from "../../domain/calls/call-context.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import { inSpan } from "../../domain/core/span.ts";
import type { Proof, ProofCarriers } from "../../domain/payments/proof.ts";
import { ANY_WALLET } from "../../domain/payments/quote.ts";
import type { Form, PreparedCall, Tool } from "../../domain/tools/tool.ts";
import type { WalletAccounts } from "../accounts/accounts.ts";
import { OTHER } from "../operations/request-record.ts";
import { buyCall, type BuyDeps, type Buyer, type Purchase } from "./buy-call.ts";
import type { Catalogue } from "./catalogue.ts";
import { anyWalletOffer, type ArrivedContext, payingWallet, requireSold } from "./keyless.ts";
import { requireIssued } from "../payments/issued-challenge.ts";
import { requireToolAccess } from "./refusals.ts";
import { toolAttributes, type ToolCallResult } from "./run-and-capture.ts";

interface FormedParams {
  readonly params: JsonObject;
  /** The API whose body the params are, and the result. Undefined: the tool's own. */
  readonly form?: Form | undefined;
}

/** A call as any transport receives it. */
export interface ToolCall extends ProofCarriers, FormedParams {
  readonly tool: string;
  readonly idempotencyKey: string | undefined;
}

export interface CallToolDeps extends BuyDeps {
  readonly catalogue: Catalogue;
  readonly wallets: WalletAccounts;
}

/**
 * The one path of a tool call, with a key or without: resolve the tool, check limits, identify the proof,
 * look up the prior outcome, settle the payment, authorize, run, capture.
 * Checks run in the order of docs/reference/errors.md, "Order of checks".
 * @throws PaymentRequiredError with a quote; ToolgateError for every other refusal
 */
export function callTool(
  deps: CallToolDeps,
  call: ToolCall,
  context: ArrivedContext,
): ToolCallResult | Promise<ToolCallResult> {
  const receivedAt = deps.clock.now();
  const { caller, record } = context;
  if (record) record.tool = OTHER;
  // One version of the configuration prices and runs the call, whatever replaces it meanwhile.
  const catalogue = deps.catalogue.current;
  const tool = catalogue.resolve(call.tool);
  if (record) record.tool = tool.name;
  if (caller) requireToolAccess(tool, caller);
  const present = withPresentParams(tool, call);
  if (!caller) requireSold(deps.quotes, tool, present.params, context);
  const prepared = prepare(tool, present, record);
  const known = { tool, receivedAt, configVersion: catalogue.version };
  const run = (prepared: PreparedCall) =>
    caller && !tool.billable && call.idempotencyKey === undefined
      ? callFreely(tool, prepared, caller, context)
      : callOnce(deps, present, { ...known, prepared }, context);
  const called = prepared instanceof Promise ? prepared.then(run) : run(prepared);
  if (!(called instanceof Promise)) return called;
  catalogue.startCall();
  return called.finally(() => catalogue.endCall());
}

/** Returns the call without params that are null: absent. Bodies of other APIs are forwarded as they came. */
export function withPresentParams<Call extends FormedParams>(tool: Tool, call: Call): Call {
  if (call.form !== undefined) return call;
  const params = withoutNulls(call.params, tool.inputSchema);
  return params === call.params ? call : { ...call, params };
}

/** @throws ToolgateError INVALID_REQUEST; UNAVAILABLE from a tool that cannot run yet */
export function prepare(
  tool: Tool,
  { form, params }: FormedParams,
  record: CallRecord | undefined,
): PreparedCall | Promise<PreparedCall> {
  if (form !== undefined && !tool.modelApi?.forms.has(form))
    throw new ToolgateError("TOOL_NOT_FOUND", `tool: ${tool.name} has no form in this API`);
  const failed = (error: unknown): never => {
    if (record) record.toolFailed = true;
    throw error;
  };
  try {
    if (form !== undefined && tool.modelApi) return tool.modelApi.prepare(form, params);
    const prepared = tool.prepareFor?.(params, record) ?? tool.prepare(params);
    return prepared instanceof Promise ? prepared.catch(failed) : prepared;
  } catch (error) {
    return failed(error);
  }
}

/** Runs a free call without a claim: nothing is stored, and nothing awaited that the tool does not await. */
function callFreely(
  tool: Tool,
  prepared: PreparedCall,
  caller: Caller,
  { signal, progress, record }: Omit<ArrivedContext, "caller">,
): ToolCallResult | Promise<ToolCallResult> {
  // Synchronous tools get no span of their own.
  const span = record?.span?.sampled
    ? record.span.child(`execute_tool ${tool.name}`, toolAttributes(tool))
    : undefined;
  const run = { runId: undefined, idempotencyKey: undefined, signal, caller, progress, span };
  const failed = (error: unknown): never => {
    if (record) record.toolFailed = true;
    throw error;
  };
  try {
    const result = prepared.run(run);
    if (!(result instanceof Promise)) return freeResult(result);
    const answered = result.then(freeResult, failed);
    return span ? inSpan(span, () => answered) : answered;
  } catch (error) {
    return failed(error);
  }
}

/** Copies the result: a tool may change its own object before it is sent. */
function freeResult(result: JsonObject): ToolCallResult {
  return { result: { ...result }, receipt: undefined };
}

type KnownCall = Pick<Purchase, "tool" | "prepared" | "receivedAt" | "configVersion">;

/** Checks the proof of a call that is charged, or has an idempotency key, and finds its buyer. */
async function callOnce(
  deps: CallToolDeps,
  call: ToolCall,
  known: KnownCall,
  context: ArrivedContext,
): Promise<ToolCallResult> {
  const { tool } = known;
  const { form, params } = call;
  const proof = tool.billable ? deps.payments.parse(call) : undefined;
  const idempotencyKey = idempotencyKeyOf(call, proof);
  const identified = proof && (await deps.payments.identify(proof));
  const quote = identified && (await deps.quotes.find(identified.quoteId));
  if (proof?.challenge) requireIssued(deps.quotes, proof.challenge, quote, call.body);
  const asked = fingerprint(tool.name, form === undefined ? params : { [form]: bodyWithoutNulls(params) });
  const buyer = await buyerOf(deps, proof, { ...known, fingerprint: asked, identified, quote }, context);
  const purchase = { ...known, fingerprint: asked, idempotencyKey, identified, quote, buyer };
  const bought = await buyCall(deps, purchase, { ...context, caller: buyer.caller });
  // A repeat under an idempotency key can return a call that another payment of the account bought.
  const paid = context.keyless && quote && bought.receipt?.quoteId === quote.quoteId;
  const payer = paid ? identified?.payer : undefined;
  return payer === undefined ? bought : { ...bought, payer };
}

type UnclaimedCall = KnownCall & Pick<Purchase, "fingerprint" | "identified" | "quote">;

/** @throws PaymentRequiredError for a call without an API key and without a payment; ToolgateError */
function buyerOf(
  deps: CallToolDeps,
  proof: Proof | undefined,
  call: UnclaimedCall,
  { caller, keyless }: ArrivedContext,
): Buyer | Promise<Buyer> {
  if (caller) {
    const quotedTo = keyless ? ANY_WALLET : caller.accountId;
    return { caller, quotedTo, exists: true, open: async () => caller };
  }
  if (proof) return payingWallet(deps, proof, call);
  const { tool, prepared, fingerprint } = call;
  throw anyWalletOffer(deps.quotes, tool, prepared.price, withChoice(fingerprint, prepared.choice?.name));
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
