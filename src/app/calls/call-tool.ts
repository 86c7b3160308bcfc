import type { Clock, Random } from "../../domain/core/clock.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { fingerprint } from "../../domain/calls/fingerprint.ts";
import { newId } from "../../domain/core/ids.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import { parseProof, type Proof, type ProofCarriers } from "../../domain/payments/proof.ts";
import { stepIdOf } from "../../domain/payments/quote.ts";
import type { Receipt } from "../../domain/calls/receipt.ts";
import type { PreparedCall, Tool, ToolContext } from "../../domain/tools/tool.ts";
import type { Catalogue } from "./catalogue.ts";
import { claimDigest } from "./claim-digest.ts";
import { identifyPayment, submitPayment, type GaslessDeps } from "../payments/identify-payment.ts";
import {
  dailyBudgetOf,
  dailyLimitReached,
  requirePriceWithinLimit,
  requireToolAccess,
} from "./key-limits.ts";
import { PaymentCreditedError } from "./payment-credited-error.ts";
import type { CallAuthorization, AuthorizeResult, CallPayment, RunEnd, Ledger } from "./ledger.ts";
import type { CallContext } from "./call-context.ts";
import {
  creditExtraPayment,
  requireQuote,
  settlePayment,
  type SettleDeps,
} from "../payments/settle-payment.ts";
import type { UnpaidWork } from "./unpaid-work.ts";
import { priorCallError, insufficientFunds } from "./refusals.ts";

/** A call as it comes through any door. */
export interface ToolCall extends ProofCarriers {
  readonly tool: string;
  readonly params: JsonObject;
  readonly idempotencyKey: string | undefined;
}

/** What came of it. */
export interface ToolCallResult {
  readonly result: JsonObject;
  readonly receipt: Receipt | undefined;
}

/** What a call needs. */
export interface CallToolDeps extends SettleDeps, GaslessDeps {
  readonly catalogue: Catalogue;
  readonly unpaidWork: Pick<UnpaidWork, "requireAllowance" | "charged" | "failed">;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly random: Random;
  /** Aborts when the service must end the work that runs, at the end of a shutdown's grace period. */
  readonly stopping: AbortSignal;
}

/**
 * The one path of a tool call: resolve the tool, check permissions, prepare, then authorize, run and capture.
 * Checks run in the order of docs/reference/decisions.md, "order of checks".
 * @throws PaymentRequiredError with a quote; ToolgateError for every other refusal
 */
export async function callTool(
  deps: CallToolDeps,
  call: ToolCall,
  context: CallContext,
): Promise<ToolCallResult> {
  const receivedAt = deps.clock.now();
  const tool = deps.catalogue.resolve(call.tool);
  requireToolAccess(tool, context.caller);
  const prepared = tool.prepare(call.params);
  if (!tool.billable && call.idempotencyKey === undefined) {
    const run = { runId: undefined, idempotencyKey: undefined, signal: context.signal };
    return { result: await work(prepared, run, context), receipt: undefined };
  }
  return claimAndRun(deps, call, { tool, prepared, receivedAt }, context);
}

/** A call that is known by its key or its proof, or costs something, and when it came in, ms. */
interface PricedCall {
  readonly tool: Tool;
  readonly prepared: PreparedCall;
  readonly receivedAt: number;
}

async function claimAndRun(
  deps: CallToolDeps,
  call: ToolCall,
  { tool, prepared, receivedAt }: PricedCall,
  context: CallContext,
): Promise<ToolCallResult> {
  const print = fingerprint(tool.name, call.params);
  const proof = tool.billable ? parseProof(call, deps.memoPrefix) : undefined;
  const sentKey = sentKeyOf(call, proof);
  const sought = { tool: tool.name, price: prepared.price, fingerprint: print, sentKey, receivedAt };
  const found = await findPayment(deps, proof, sought, context);
  if (found && "result" in found) return found;

  const { payment, quotedPrice, idempotencyKey } = found ?? {};
  const { accountId, keyId } = context.caller;
  const begin: CallAuthorization = {
    accountId,
    keyId,
    budget: dailyBudgetOf(context.caller),
    runId: newId("run", deps.clock, deps.random),
    tool: tool.name,
    fingerprint: print,
    // What was quoted and paid stays the price of the call, whatever this instance charges by now.
    price: quotedPrice ?? prepared.price,
    idempotencyKey: sentKey ?? idempotencyKey,
    payment,
  };
  context.signal.throwIfAborted();
  // Of a call that claims something the ledger may know the answer, so it is asked first.
  if (begin.idempotencyKey === undefined && !payment) requireAllowance(deps, tool, accountId);
  return conclude(deps, { tool, prepared }, begin, await deps.ledger.authorize(begin), context);
}

/** Runs the call that has begun, or returns or throws what is known of it. */
async function conclude(
  deps: CallToolDeps,
  priced: Pick<PricedCall, "tool" | "prepared">,
  call: CallAuthorization,
  begun: AuthorizeResult,
  context: CallContext,
): Promise<ToolCallResult> {
  const { accountId, tool, price, payment, fingerprint: print } = call;
  switch (begun.kind) {
    case "started":
      return runAndCapture(deps, priced, call, context);
    case "insufficient": {
      // A call that would be refused is not quoted.
      if (!payment) requireAllowance(deps, priced.tool, accountId);
      const short = { tool, price, balance: begun.balance, proved: payment !== undefined };
      throw insufficientFunds(short, () => deps.quotes.issue(accountId, price, print));
    }
    case "capped":
      throw dailyLimitReached(tool, price, begun.spent, call.budget?.perDay ?? 0n);
    case "replay":
      // The same call was charged while this payment was looked up: it is no less ours to credit.
      if (payment?.transfer && begun.receipt?.txSignature !== payment.txSignature)
        await deps.ledger.credit(accountId, payment.transfer);
      return { result: begun.result, receipt: begun.receipt };
    default:
      throw await priorCallError(deps.ledger, accountId, begun);
  }
}

/** The payment of a call, and the key that it last came with. */
interface FoundPayment {
  readonly payment: CallPayment;
  /** Of its quote, micro-USD; undefined for one that cannot be opened any more. */
  readonly quotedPrice: MicroUsd | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** What a payment is looked for with: the call by its fingerprint, and when it came in. */
interface Sought {
  readonly tool: string;
  /** Without a quote, micro-USD. */
  readonly price: MicroUsd;
  readonly fingerprint: Buffer;
  readonly sentKey: string | undefined;
  /** ms */
  readonly receivedAt: number;
}

/** The key's limit per call and the replay first (before expiry, before anything is sent, before the chain), then the money. */
async function findPayment(
  deps: CallToolDeps,
  sent: Proof | undefined,
  { tool, price, fingerprint, sentKey, receivedAt }: Sought,
  context: CallContext,
): Promise<FoundPayment | ToolCallResult | undefined> {
  const { accountId } = context.caller;
  if (!sent) {
    requirePriceWithinLimit(tool, context.caller, price);
    return undefined;
  }
  const proof = await identifyPayment(deps, sent);
  const { txSignature, quoteId } = proof;
  const named = deps.quotes.open(quoteId);
  const quotedPrice = named?.price;
  requirePriceWithinLimit(tool, context.caller, quotedPrice ?? price);
  const prior = await deps.ledger.findPrior({
    accountId,
    fingerprint,
    idempotencyKey: sentKey,
    txSignature,
    quoteId,
  });
  if (prior?.kind === "credited") {
    const payment = { txSignature, quoteId, stepId: stepIdOf(quoteId), transfer: undefined };
    return { payment, quotedPrice, idempotencyKey: prior.idempotencyKey };
  }
  if (prior && prior.kind !== "replay") throw await priorCallError(deps.ledger, accountId, prior);
  if (prior) {
    if (prior.receipt?.txSignature !== txSignature)
      await creditExtraPayment(deps, proof, named, fingerprint, context);
    return { result: prior.result, receipt: prior.receipt };
  }
  const quote = requireQuote(named, proof, accountId, fingerprint);
  const paidAt = await submitPayment(deps, proof, quote, receivedAt, context);
  return { payment: await settlePayment(deps, proof, quote, paidAt, context), quotedPrice };
}

/** Runs the tool under its durable hold. From here on the caller's going away changes nothing: the result is stored for its return. */
async function runAndCapture(
  deps: CallToolDeps,
  { tool, prepared }: Pick<PricedCall, "tool" | "prepared">,
  { accountId, runId, payment, ...claim }: CallAuthorization,
  context: CallContext,
): Promise<ToolCallResult> {
  const digest = claimDigest({ ...claim, accountId, txSignature: payment?.txSignature });
  const run = { runId, idempotencyKey: digest ?? runId, signal: deps.stopping };
  if (context.signal.aborted) {
    await deps.ledger.finish({
      runId,
      outcome: "cancelled",
      error: { code: "CANCELLED", message: "the caller went away before the tool started" },
    });
    context.signal.throwIfAborted();
  }
  let result: JsonObject;
  try {
    requireAllowance(deps, tool, accountId);
    result = await work(prepared, run, context);
  } catch (error) {
    const failure = asToolFailure(error);
    const counted =
      failure.worked && tool.billable ? deps.unpaidWork.failed(accountId, tool.name) : undefined;
    try {
      await deps.ledger.finish(endOf(runId, failure));
    } catch (problem) {
      throw unfinished(failure, problem);
    } finally {
      await counted;
    }
    throw payment ? new PaymentCreditedError(failure, payment.txSignature) : failure;
  }
  const receiptId = newId("rcpt", deps.clock, deps.random);
  const finished = await deps.ledger.finish({ runId, outcome: "completed", receiptId, result });
  if (finished.kind === "captured") {
    if (finished.receipt) deps.unpaidWork.charged(accountId, tool.name);
    return { result, receipt: finished.receipt };
  }
  throw new ToolgateError(
    "UNAVAILABLE",
    "the run outlived its lease and was released; nothing was charged, repeat the call with the same idempotency key or proof",
    { retryAfterSeconds: 1 },
  );
}

/** @throws ToolgateError RATE_LIMITED for an account for which too much work of a paid tool was not charged */
function requireAllowance({ unpaidWork }: CallToolDeps, { name, billable }: Tool, accountId: string): void {
  if (billable) unpaidWork.requireAllowance(accountId, name);
}

/** One run of a tool. */
type Run = Pick<ToolContext, "runId" | "idempotencyKey" | "signal">;

/** The tool's result, this call's own: what it is written as is kept by the object, which a tool might give again, and changed. */
async function work(
  prepared: PreparedCall,
  run: Run,
  { caller, progress }: CallContext,
): Promise<JsonObject> {
  return { ...(await prepared.run({ ...run, caller, progress })) };
}

/** The caller's key; an x402 payload may bring it. @throws ToolgateError INVALID_REQUEST when two are sent that differ */
function sentKeyOf({ idempotencyKey }: ToolCall, proof: Proof | undefined): string | undefined {
  const paymentId = proof?.kind === "gasless" ? proof.paymentId : undefined;
  if (paymentId !== undefined && idempotencyKey !== undefined && paymentId !== idempotencyKey)
    throw invalidField(
      "idempotency_key",
      "differs from the payment-identifier of the x402 payload; send one of them",
    );
  return idempotencyKey ?? paymentId;
}

function asToolFailure(error: unknown): ToolgateError {
  if (error instanceof ToolgateError) return error;
  return new ToolgateError(
    "TOOL_FAILED",
    "the tool failed; nothing was charged, repeat the call with the same idempotency key or proof",
    {
      cause: error,
    },
  );
}

/** A tool that failed while its failure could not be stored: the log gets both. The run ends with its lease. */
function unfinished(failure: ToolgateError, problem: unknown): ToolgateError {
  return new ToolgateError(
    "UNAVAILABLE",
    "the tool failed, and the end of its run could not be stored; nothing was charged, repeat the call with the same idempotency key or proof",
    {
      retryAfterSeconds: 2,
      cause: new Error(`the end of the run could not be stored: ${String(problem)}`, { cause: failure }),
    },
  );
}

/** How the run of a tool ends that did not do its work; work that was cancelled before it began is no failure. */
function endOf(runId: string, { code, message }: ToolgateError): RunEnd {
  const error = { code, message };
  return code === "CANCELLED" ? { runId, outcome: "cancelled", error } : { runId, outcome: "failed", error };
}
