import { type Cell, newId } from "../../domain/core/ids.ts";
import type { Clock, Random } from "../../domain/core/clock.ts";
import { inSpan, type Span, type SpanAttributes } from "../../domain/core/span.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { chargeOf, type Receipt } from "../../domain/calls/receipt.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import type { ModelUse, PreparedCall, Tool } from "../../domain/tools/tool.ts";
import type { CallContext } from "../../domain/calls/call-context.ts";
import type { CallAuthorization, FailedRun, Ledger } from "./ledger.ts";
import { PaymentCreditedError } from "./call-errors.ts";
import { requireAllowance, type UnpaidWork } from "./unpaid-work.ts";
import { createHmac } from "node:crypto";
import type { PaymentId } from "../../domain/payments/payment-id.ts";

export interface ToolCallResult {
  readonly result: JsonObject;
  /** Undefined for a free call. */
  readonly receipt: Receipt | undefined;
  /** The wallet that signed the payment of the receipt's call, base58; undefined when the balance paid. */
  readonly payer?: string;
}

export interface RunDeps {
  readonly unpaidWork: Pick<UnpaidWork, "requireAllowance" | "charged" | "failed">;
  readonly ledger: Pick<Ledger, "capture" | "release">;
  readonly clock: Clock;
  readonly random: Random;
  /** Default: the only deployment. */
  readonly cell?: Cell;
  /** Aborts at the end of a shutdown's grace period. */
  readonly stopping: AbortSignal;
}

interface AuthorizedCall {
  readonly tool: Tool;
  readonly prepared: PreparedCall;
  readonly authorization: CallAuthorization;
}

/**
 * Runs the tool under its stored hold and captures it. A disconnect no longer matters: the result is stored.
 */
export async function runAndCapture(
  deps: RunDeps,
  { tool, prepared, authorization }: AuthorizedCall,
  context: CallContext,
): Promise<ToolCallResult> {
  const { accountId, runId, payment, price } = authorization;
  const digest = claimDigest({ ...authorization, payment });
  const { caller, progress, output, attached, record } = context;
  if (record) record.runId = runId;
  const usage: { used?: MicroUsd; model?: ModelUse } = {};
  const meter = (used: MicroUsd) => void (usage.used = used);
  const noteModel = (use: ModelUse) => void (usage.model = use);
  const run = {
    runId,
    idempotencyKey: digest ?? runId,
    signal: deps.stopping,
    caller,
    progress,
    output,
    attached,
    meter,
    noteModel,
  };
  if (context.signal.aborted) {
    const message = "the caller disconnected before the tool started";
    await deps.ledger.release({ runId, outcome: "cancelled", error: { code: "CANCELLED", message } });
    context.signal.throwIfAborted();
  }
  context.onStart?.(payment && { txSignature: payment.reference, quoted: price });
  let result: JsonObject;
  const from = deps.clock.now();
  const span = record?.span?.child(`execute_tool ${tool.name}`, toolAttributes(tool));
  try {
    requireAllowance(deps.unpaidWork, tool, accountId);
    // A tool may change its own object while the copy is stored and sent.
    result = { ...(await prepared.run(span ? { ...run, span } : run)) };
    span?.end();
  } catch (error) {
    span?.end(error);
    const failure = await release(deps, tool, { ...authorization, model: usage.model, record }, error);
    throw payment ? new PaymentCreditedError(failure, payment.reference) : failure;
  } finally {
    if (record) record.toolMs = deps.clock.now() - from;
  }
  const receiptId = newId("rcpt", deps.clock, deps.random, deps.cell?.number);
  const amount = usage.used === undefined ? {} : { captured: chargeOf(price, usage.used) };
  const capture = (step?: Span) =>
    deps.ledger.capture({
      runId,
      outcome: "completed",
      receiptId,
      result,
      ...amount,
      model: usage.model,
      span: step,
    });
  const captured = await inSpan(record?.span?.child("capture"), capture);
  if (captured.kind === "captured") {
    if (captured.receipt) deps.unpaidWork.charged(accountId, tool.name);
    return { result, receipt: captured.receipt };
  }
  throw new ToolgateError(
    "UNAVAILABLE",
    "the run outlived its lease and was released; nothing was charged, repeat the call with the same " +
      "idempotency key or proof",
    { retryAfterSeconds: 1 },
  );
}

/** Attributes of a tool's step (semantic conventions, GenAI, "Execute tool span"). */
export function toolAttributes({ name }: Tool): SpanAttributes {
  return { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name };
}

interface FailedCall {
  readonly model: ModelUse | undefined;
  readonly record: CallContext["record"];
}

/** Releases the hold of a failed run. @returns the error for the caller. @throws ToolgateError UNAVAILABLE */
async function release(
  { ledger, unpaidWork }: RunDeps,
  tool: Tool,
  { accountId, runId, model, record }: CallAuthorization & FailedCall,
  error: unknown,
): Promise<ToolgateError> {
  const failure = asToolFailure(error);
  const counted = failure.worked && tool.billable ? unpaidWork.failed(accountId, tool.name) : undefined;
  try {
    await ledger.release({ ...endOf(runId, failure), model });
  } catch (problem) {
    throw notStored(failure, problem);
  } finally {
    await counted;
  }
  if (record) record.toolFailed = true;
  return failure;
}

function asToolFailure(error: unknown): ToolgateError {
  if (error instanceof ToolgateError) return error;
  return new ToolgateError(
    "TOOL_FAILED",
    "the tool failed; nothing was charged, repeat the call with the same idempotency key or proof",
    { cause: error },
  );
}

/** Logs both errors. The run ends with its lease. */
function notStored(failure: ToolgateError, problem: unknown): ToolgateError {
  return new ToolgateError(
    "UNAVAILABLE",
    "the tool failed, and the end of its run could not be stored; nothing was charged, repeat the call " +
      "with the same idempotency key or proof",
    {
      retryAfterSeconds: 2,
      cause: new Error(`the end of the run could not be stored: ${String(problem)}`, { cause: failure }),
    },
  );
}

/** A run cancelled before it started is not a failure. */
function endOf(runId: string, { code, message }: ToolgateError): FailedRun {
  const error = { code, message };
  return code === "CANCELLED" ? { runId, outcome: "cancelled", error } : { runId, outcome: "failed", error };
}

/** Identifies a claim: the caller's idempotency key or, without one, its payment. */
export interface Claim {
  readonly accountId: string;
  readonly idempotencyKey: string | undefined;
  readonly payment: PaymentId | undefined;
  /** Fingerprint of tool and params, 32 bytes. */
  readonly fingerprint: Buffer;
}

/**
 * Returns an identifier of the claim for upstream servers: equal for each run of one claim, and without the
 * caller's own key in it. Undefined when the call claims nothing.
 */
export function claimDigest({ accountId, idempotencyKey, payment, fingerprint }: Claim): string | undefined {
  const paid = payment && `pay:${payment.network}:${payment.reference}`;
  const claim = idempotencyKey === undefined ? paid : `key:${idempotencyKey}`;
  if (claim === undefined) return undefined;
  return createHmac("sha256", accountId).update(fingerprint).update(claim).digest("base64url");
}
