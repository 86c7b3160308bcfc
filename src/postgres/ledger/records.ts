import { z } from "zod";
import type {
  AuthorizeResult,
  CallAuthorization,
  RunEnd,
  RunEndResult,
  LimitRefusal,
  PriorOutcome,
  PriorQuery,
} from "../../app/calls/ledger.ts";
import { BUDGET_PERIODS } from "../../domain/accounts/budget.ts";
import { uuidOf } from "../../domain/core/ids.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import { RETRY } from "../database/batcher.ts";
import { referenceFrom, idFromUuid, toReceipt, uuidFromId } from "../database/row-mapping.ts";
import type { ReceiptRow } from "../database/row-mapping.ts";
import type { PaymentId } from "../../domain/payments/payment-id.ts";
import type { Receipt } from "../../domain/calls/receipt.ts";
import { ERRORS, type ErrorCode } from "../../domain/core/errors.ts";
import { claimKey, claimOf, idempotencyKeyOf } from "./claims.ts";

/** Result row of `ledger_authorize`. */
export interface AuthorizeRow extends Nullable<ReceiptRow> {
  n: number;
  kind: AuthorizeResult["kind"] | "credited" | "again";
  /** Micro-USD; for "frozen" as moved_to. */
  balance: bigint | null;
  /** For "capped", the limit. */
  result: JsonObject | null;
  replayed_run: string | null;
}

/** Result row of `ledger_prior`. */
export interface PriorRow extends AuthorizeRow {
  payment_claim: string | null;
  /** For "frozen", the cell that has the account; null while it moves. */
  moved_to: bigint | null;
}

/** Result row of `ledger_end`. */
export interface EndRow extends Nullable<ReceiptRow> {
  n: number;
  kind: RunEndResult["kind"];
}

type Nullable<Row> = { [Column in keyof Row]: Row[Column] | null };

/** Query for an earlier call, as JSON of the SQL type `ledger_call`. */
export function priorRecord(query: PriorQuery, index: number): object {
  return {
    n: index + 1,
    account_id: uuidFromId("acct", query.accountId),
    fingerprint: bytes(query.fingerprint),
    claim_key: claimOf(query.idempotencyKey, query),
    keyed: query.idempotencyKey !== undefined,
    payment: paymentRecord(query),
    quote_id: query.quoteId,
  };
}

/** A call, as JSON of the SQL type `ledger_call`. */
export function callRecord(call: CallAuthorization, index: number): object {
  const { payment } = call;
  const deposit = payment?.transfer;
  return {
    n: index + 1,
    account_id: uuidFromId("acct", call.accountId),
    run_id: uuidFromId("run", call.runId),
    request_id: call.requestId,
    tool: call.tool,
    fingerprint: bytes(call.fingerprint),
    price: call.price.toString(),
    claim_key: claimKey(call),
    keyed: call.idempotencyKey !== undefined,
    key_id: uuidOf("key", call.keyId),
    config_version: call.configVersion,
    payment: payment && paymentRecord(payment),
    quote_id: payment?.quoteId,
    step_id: payment?.stepId,
    deposit: deposit?.amount.toString(),
    payer: deposit?.payer,
    slot: deposit?.slot.toString(),
    block_time: deposit?.blockTime,
    finalized: deposit?.finalized,
    paid_by: deposit?.paidBy,
  };
}

function paymentRecord(payment: PaymentId): object {
  return { network: payment.network, reference: bytes(referenceFrom(payment)) };
}

/** The end of a run, as JSON of the SQL type `ledger_ending`. */
export function endingRecord(call: RunEnd, index: number): object {
  const common = { n: index + 1, run_id: uuidFromId("run", call.runId), outcome: call.outcome };
  if (call.outcome === "completed")
    return { ...common, receipt_id: uuidFromId("rcpt", call.receiptId), captured: call.captured?.toString() };
  // PostgreSQL text excludes NUL and lone surrogates.
  const message = call.error.message.replaceAll("\0", "").toWellFormed();
  return { ...common, error_code: call.error.code, error_message: message };
}

/** The stored form of a call's result; undefined without one. */
export function resultText(call: RunEnd): string | undefined {
  return call.outcome === "completed" ? JSON.stringify(call.result) : undefined;
}

/** Bytes in PostgreSQL's hex format. */
function bytes(buffer: Buffer): string {
  return `\\x${buffer.toString("hex")}`;
}

/** Results in the order of their requests (`n` counts from 1). */
export function inOrder<Row extends { n: number }, Answer>(
  rows: readonly Row[],
  answerOf: (row: Row) => Answer,
): Answer[] {
  const answers: Answer[] = [];
  for (const row of rows) answers[row.n - 1] = answerOf(row);
  return answers;
}

/** Undefined when the call is unknown. */
export function priorOf(row: PriorRow): PriorOutcome {
  switch (row.kind) {
    case "replay":
      return replayOf(row);
    case "in_progress":
    case "mismatch":
    case "payment_used":
    case "unassigned":
    case "reversed":
    case "frozen":
      return { kind: row.kind };
    case "credited":
      return { kind: row.kind, idempotencyKey: idempotencyKeyOf(row.payment_claim) };
    default:
      return undefined;
  }
}

export function authorizeResultOf(row: AuthorizeRow): AuthorizeResult | typeof RETRY {
  switch (row.kind) {
    case "again":
      return RETRY;
    case "replay":
      return replayOf(row);
    case "insufficient":
      return { kind: row.kind, balance: row.balance ?? 0n };
    case "capped":
      return refusalOf(row.result);
    case "credited":
      throw new Error("the ledger returned an inconsistent state for a call");
    default:
      return { kind: row.kind };
  }
}

/** An object of the SQL function `budget_refusal`. */
const REFUSAL = z.union([
  z.object({ period: z.literal("tools") }),
  z.object({
    period: z.enum(["call", ...BUDGET_PERIODS]),
    amount: z.string(),
    spent: z.string().default("0"),
    ends: z.string().nullish(),
    scope: z.enum(["key", "group"]),
    budget_id: z.string().default(""),
    group_name: z.string().nullish(),
    reported: z.boolean().default(true),
  }),
]);

export function refusalOf(json: unknown): LimitRefusal {
  const refusal = REFUSAL.parse(json);
  if (refusal.period === "tools") return { kind: "excluded" };
  const { period, amount, spent, ends, reported, group_name: name } = refusal;
  const limit = {
    group:
      refusal.scope === "group"
        ? { groupId: idFromUuid("grp", refusal.budget_id), name: name ?? "" }
        : undefined,
    period,
    limit: BigInt(amount),
    spent: BigInt(spent),
    resetsAt: ends ? new Date(`${ends}T00:00:00Z`) : undefined,
    reported,
  };
  return { kind: "capped", limit };
}

export function endResultOf(row: EndRow): RunEndResult {
  return row.kind === "captured" ? { kind: row.kind, receipt: receiptIn(row) } : { kind: row.kind };
}

/** The run of a replay without a receipt: it was free, or it is archived. */
const UNRECEIPTED_RUNS = new WeakMap<object, string>();

function unreceiptedRun(outcome: object): string | undefined {
  return UNRECEIPTED_RUNS.get(outcome);
}

function replayOf(row: AuthorizeRow): Extract<AuthorizeResult, { kind: "replay" }> {
  const replay = { kind: "replay", result: row.result ?? {}, receipt: receiptIn(row) } as const;
  if (!replay.receipt && row.replayed_run !== null)
    UNRECEIPTED_RUNS.set(replay, idFromUuid("run", row.replayed_run));
  return replay;
}

function receiptIn(row: Nullable<ReceiptRow>) {
  return isReceipt(row) ? toReceipt(row) : undefined;
}

function isReceipt(row: Nullable<ReceiptRow>): row is ReceiptRow {
  return row.id !== null;
}

/** Takes the next answer. @throws Error when there is none */
export function next<Answer>(answers: Answer[]): Answer {
  const answer = answers.shift();
  if (answer === undefined) throw new Error("the ledger returned no result for a call");
  return answer;
}

export type ArchivedReceipt = (accountId: string, runId: string) => Promise<Receipt | undefined>;

/** Adds the receipt to a replay whose run is archived. Outside of a batch: it is read slowly. */
export async function withArchivedReceipt<Outcome extends AuthorizeResult | NonNullable<PriorOutcome>>(
  find: ArchivedReceipt | undefined,
  accountId: string,
  outcome: Outcome,
): Promise<Outcome> {
  const runId = unreceiptedRun(outcome);
  const receipt = runId === undefined ? undefined : await find?.(accountId, runId);
  return receipt ? { ...outcome, receipt } : outcome;
}

/** Parses a stored error code; retired codes become INTERNAL. */
export function errorCodeOf(text: string): ErrorCode {
  return isErrorCode(text) ? text : "INTERNAL";
}

function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(ERRORS, text);
}
