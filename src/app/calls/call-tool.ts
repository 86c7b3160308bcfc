import { openAiWithoutNulls, withoutNulls } from "../../domain/calls/absent.ts";
import { type CallRecord, fingerprint, type CallContext } from "../../domain/calls/call-context.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import { inSpan } from "../../domain/core/span.ts";
import type { Proof, ProofCarriers } from "../../domain/payments/proof.ts";
import type { PreparedCall, Tool } from "../../domain/tools/tool.ts";
import { OTHER } from "../operations/request-record.ts";
import { buyCall, type BuyDeps, type PreparedToolCall } from "./buy-call.ts";
import type { Catalogue } from "./catalogue.ts";
import { requireToolAccess } from "./refusals.ts";
import { toolAttributes, type ToolCallResult } from "./run-and-capture.ts";

/** A call as any transport receives it. */
export interface ToolCall extends ProofCarriers {
  readonly tool: string;
  readonly params: JsonObject;
  /** `openai`: the params are a body of the OpenAI API, and so is the result. */
  readonly form?: "openai" | undefined;
  readonly idempotencyKey: string | undefined;
}

export interface CallToolDeps extends BuyDeps {
  readonly catalogue: Catalogue;
}

/**
 * The one path of a tool call: resolve the tool, check limits, identify the proof, look up the prior outcome,
 * settle the payment, authorize, run, capture.
 * Checks run in the order of docs/reference/errors.md, "Order of checks".
 * @throws PaymentRequiredError with a quote; ToolgateError for every other refusal
 */
export function callTool(
  deps: CallToolDeps,
  call: ToolCall,
  context: CallContext,
): ToolCallResult | Promise<ToolCallResult> {
  const receivedAt = deps.clock.now();
  const { record } = context;
  if (record) record.tool = OTHER;
  // One version of the configuration prices and runs the call, whatever replaces it meanwhile.
  const catalogue = deps.catalogue.current;
  const tool = catalogue.resolve(call.tool);
  if (record) record.tool = tool.name;
  requireToolAccess(tool, context.caller);
  const present = withPresentParams(tool, call);
  const prepared = prepare(tool, present, record);
  const known = { tool, prepared, receivedAt, configVersion: catalogue.version };
  const called =
    tool.billable || call.idempotencyKey !== undefined
      ? callOnce(deps, present, known, context)
      : callFreely(tool, prepared, context);
  if (!(called instanceof Promise)) return called;
  catalogue.startCall();
  return called.finally(() => catalogue.endCall());
}

/** Returns the call without params that are null: absent. The OpenAI form is forwarded as it came. */
export function withPresentParams(tool: Tool, call: ToolCall): ToolCall {
  return call.form === undefined ? { ...call, params: withoutNulls(call.params, tool.inputSchema) } : call;
}

/** @throws ToolgateError INVALID_REQUEST; UNAVAILABLE from a tool that cannot run yet */
function prepare(tool: Tool, { form, params }: ToolCall, record: CallRecord | undefined): PreparedCall {
  if (form !== undefined && !tool.openai)
    throw new ToolgateError("TOOL_NOT_FOUND", `tool: ${tool.name} has no form in the OpenAI API`);
  try {
    return (form === undefined ? tool : (tool.openai ?? tool)).prepare(params);
  } catch (error) {
    if (record) record.toolFailed = true;
    throw error;
  }
}

/** Runs a free call without a claim: nothing is stored, and nothing awaited that the tool does not await. */
function callFreely(
  tool: Tool,
  prepared: PreparedCall,
  { caller, signal, progress, record }: CallContext,
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

type KnownCall = Pick<PreparedToolCall, "tool" | "prepared" | "receivedAt" | "configVersion">;

/** Checks the proof of a call that is charged, or has an idempotency key. */
async function callOnce(
  deps: CallToolDeps,
  call: ToolCall,
  { tool, prepared, receivedAt, configVersion }: KnownCall,
  context: CallContext,
): Promise<ToolCallResult> {
  const { caller } = context;
  const { form, params } = call;
  const proof = tool.billable ? deps.payments.parse(call) : undefined;
  const idempotencyKey = idempotencyKeyOf(call, proof);
  const identified = proof && (await deps.payments.identify(proof));
  const quote = identified && (await deps.quotes.find(identified.quoteId));
  const callFingerprint = fingerprint(
    tool.name,
    form === undefined ? params : { [form]: openAiWithoutNulls(params) },
  );
  const identifiedCall = {
    tool,
    prepared,
    fingerprint: callFingerprint,
    configVersion,
    idempotencyKey,
    identified,
    quote,
    receivedAt,
  };
  const buyer = { quotedTo: caller.accountId, exists: true, open: async () => caller };
  return buyCall(deps, identifiedCall, buyer, context);
}

/**
 * Returns the idempotency key of the call or of its x402 payload.
 * @throws ToolgateError INVALID_REQUEST when they differ
 */
export function idempotencyKeyOf(
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
