import type { Clock, Random } from "../domain/clock.ts";
import { ToolgateError } from "../domain/errors.ts";
import { fingerprint } from "../domain/fingerprint.ts";
import { newId } from "../domain/ids.ts";
import type { JsonObject } from "../domain/json.ts";
import { parseProof, type BodyProof, type Proof } from "../domain/proof.ts";
import { stepIdOf } from "../domain/quote.ts";
import type { Receipt } from "../domain/receipt.ts";
import type { PreparedCall, Tool } from "../domain/tool.ts";
import type { Catalogue } from "./catalogue.ts";
import type { CallContext, CallPayment, FinishCall, Ledger } from "./ports.ts";
import { creditBesides, openQuote, settle, type SettleDeps } from "./settle.ts";
import { refusalOf, shortOf } from "./verdict.ts";

/** A call as it comes through any door. */
export interface ToolCall {
  readonly tool: string;
  readonly params: JsonObject;
  /** The X-Payment header, as sent. */
  readonly xPayment: string | undefined;
  /** The body's payment_proof. */
  readonly paymentProof: BodyProof | undefined;
  readonly idempotencyKey: string | undefined;
}

/** What came of it. */
export interface ToolCallResult {
  readonly result: JsonObject;
  readonly receipt: Receipt | undefined;
}

/** What a call needs. */
export interface CallToolDeps extends SettleDeps {
  readonly catalogue: Catalogue;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly random: Random;
  /** Aborts when the service must end the work that runs, at the end of a shutdown's grace period. */
  readonly stopping: AbortSignal;
}

/**
 * The one path of a tool call: find the tool, check the right to call it, prepare it; then claim -> hold -> run -> capture.
 * The order of the checks is the order in which their errors are told (docs/decisions.md, "order of checks").
 * @throws PaymentRequiredError with a quote; ToolgateError for everything else that can be told
 */
export async function callTool(deps: CallToolDeps, call: ToolCall, context: CallContext): Promise<ToolCallResult> {
  const receivedAt = deps.clock.now();
  const tool = deps.catalogue.callable(call.tool);
  demandScope(tool, context);
  const prepared = tool.prepare(call.params);
  if (!tool.billable && call.idempotencyKey === undefined) {
    return {
      result: await prepared.run({
        caller: context.caller,
        runId: undefined,
        signal: context.signal,
        progress: context.progress,
      }),
      receipt: undefined,
    };
  }
  const print = fingerprint(tool.name, call.params);
  const proof = tool.billable ? parseProof(call.xPayment, call.paymentProof, deps.memoPrefix) : undefined;
  const found = proof && (await findPayment(deps, call, proof, print, receivedAt, context));
  if (found && "result" in found) return found;

  const { payment } = found ?? {};
  const runId = newId("run", deps.clock, deps.random);
  const { accountId } = context.caller;
  // What was quoted and paid stays the price of the call, whatever this instance charges by now.
  const price = (payment && deps.quotes.open(payment.quoteId)?.price) ?? prepared.price;
  const idempotencyKey = call.idempotencyKey ?? found?.idempotencyKey;
  context.signal.throwIfAborted();
  const begun = await deps.ledger.begin({
    accountId,
    runId,
    tool: tool.name,
    fingerprint: print,
    price,
    idempotencyKey,
    payment,
  });
  if (begun.kind === "insufficient") {
    const short = { tool: tool.name, price, balance: begun.balance, proved: payment !== undefined };
    throw shortOf(short, () => deps.quotes.issue(accountId, price, print));
  }
  if (begun.kind === "started") return runAndCapture(deps, prepared, { runId, paid: payment !== undefined }, context);
  if (begun.kind !== "replay") throw await refusalOf(deps.ledger, accountId, begun);
  // The same call was charged while this payment was looked up: it is no less ours to credit.
  if (payment?.deposit && begun.receipt?.txSignature !== payment.txSignature)
    await deps.ledger.credit(accountId, payment.deposit);
  return { result: begun.result, receipt: begun.receipt };
}

/** The payment of a call, and the key that it last came with. */
interface FoundPayment {
  readonly payment: CallPayment;
  readonly idempotencyKey?: string | undefined;
}

/** The replay first (before expiry, before the chain), then the money. */
async function findPayment(
  deps: CallToolDeps,
  call: ToolCall,
  proof: Proof,
  print: Buffer,
  receivedAt: number,
  context: CallContext,
): Promise<FoundPayment | ToolCallResult> {
  const { accountId } = context.caller;
  const prior = await deps.ledger.prior({
    accountId,
    fingerprint: print,
    idempotencyKey: call.idempotencyKey,
    txSignature: proof.txSignature,
    quoteId: proof.quoteId,
  });
  if (prior?.kind === "credited") {
    const { txSignature, quoteId } = proof;
    const payment = { txSignature, quoteId, stepId: stepIdOf(quoteId), deposit: undefined };
    return { payment, idempotencyKey: prior.idempotencyKey };
  }
  if (prior && prior.kind !== "replay") throw await refusalOf(deps.ledger, accountId, prior);
  if (prior) {
    if (prior.receipt?.txSignature !== proof.txSignature) await creditBesides(deps, proof, print, context);
    return { result: prior.result, receipt: prior.receipt };
  }
  const quote = openQuote(deps, proof, accountId, print);
  return { payment: await settle(deps, proof, quote, receivedAt, context) };
}

/** Runs the tool under its durable hold. From here on the caller's going away changes nothing: the result is stored for its return. */
async function runAndCapture(
  deps: CallToolDeps,
  prepared: PreparedCall,
  { runId, paid }: { runId: string; paid: boolean },
  context: CallContext,
): Promise<ToolCallResult> {
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
    result = await prepared.run({
      caller: context.caller,
      runId,
      signal: deps.stopping,
      progress: context.progress,
    });
  } catch (error) {
    const failure = asToolFailure(error);
    try {
      await deps.ledger.finish(endOf(runId, failure));
    } catch (problem) {
      throw unfinished(failure, problem);
    }
    throw paid ? withPaymentKept(failure) : failure;
  }
  const receiptId = newId("rcpt", deps.clock, deps.random);
  const finished = await deps.ledger.finish({ runId, outcome: "completed", receiptId, result });
  if (finished.kind === "captured") return { result, receipt: finished.receipt };
  throw new ToolgateError(
    "UNAVAILABLE",
    "the run outlived its lease and was released; nothing was charged, repeat the call with the same idempotency key or proof",
    { retryAfterSeconds: 1 },
  );
}

function demandScope(tool: Tool, context: CallContext): void {
  if (tool.scope === undefined || context.caller.scopes.has(tool.scope)) return;
  throw new ToolgateError(
    "FORBIDDEN",
    `the API key lacks the scope ${tool.scope}, which ${tool.name} needs; use a key that has it`,
  );
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

/** Who has paid for the call in vain is told where the money is. */
function withPaymentKept(failure: ToolgateError): ToolgateError {
  const { code, message, status, retryAfterSeconds, cause } = failure;
  return new ToolgateError(
    code,
    `${message}; your payment is on your balance, and the same call with the same proof uses it without another payment`,
    { status, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }), cause },
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
function endOf(runId: string, { code, message }: ToolgateError): FinishCall {
  const error = { code, message };
  return code === "CANCELLED" ? { runId, outcome: "cancelled", error } : { runId, outcome: "failed", error };
}
