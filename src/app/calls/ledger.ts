import type { ExceededLimit } from "../../domain/accounts/budget.ts";
import type { Receipt, RunError } from "../../domain/calls/receipt.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import type { Span } from "../../domain/core/span.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { ModelUse } from "../../domain/tools/tool.ts";
import type { PaymentId } from "../../domain/payments/payment-id.ts";
import type { CallPayment, PaymentCredits } from "../payments/payment-methods.ts";

/** A call to authorize: claim and hold in one transaction. */
export interface CallAuthorization {
  accountId: string;
  keyId: string;
  /** Whether budgets count the call, if the balance pays, as of {@link limitsVersion}. */
  budgeted: boolean;
  /** Limits version that the key was authenticated with. */
  limitsVersion: number;
  /** A new `run_…`, used unless the call is a repeat. */
  runId: string;
  /** The request that starts the run: `req_…`, or as a trusted proxy named it. */
  requestId: string;
  tool: string;
  /** 32 bytes, see domain/calls/call-context.ts. */
  fingerprint: Buffer;
  /** 0n for a free call. */
  price: MicroUsd;
  /** Idempotency key. Without one, a paid call is claimed under its payment. */
  idempotencyKey: string | undefined;
  /** Payment of the call, claimed so that it pays for one call only. */
  payment: CallPayment | undefined;
  /** Version of the configuration that priced the call; 0, the default, if none is stored. */
  configVersion?: number;
  /** Step of the call that the ledger's work belongs to. */
  span?: Span | undefined;
}

/** What limits of a key depend on. */
export type CountedCall = Pick<CallAuthorization, "keyId" | "tool" | "price">;

/** Result of {@link Ledger.authorize}. */
export type AuthorizeResult =
  /** Run, claim and hold are stored: run the tool, then capture or release. */
  | { kind: "started" }
  /** The same call was charged (or completed, if free) before: this is its result. */
  | { kind: "replay"; result: JsonObject; receipt: Receipt | undefined }
  /** The same call is still running. */
  | { kind: "in_progress" }
  /** The idempotency key belongs to a call with another tool or other params. */
  | { kind: "mismatch" }
  /** The transaction paid another call, quote or account. Nothing was credited. */
  | { kind: "payment_used" }
  /** Another transaction paid the quote. This one was credited to the balance. */
  | { kind: "quote_paid" }
  /** The transfer has no account: the operator assigns it. Nothing was credited. */
  | { kind: "unassigned" }
  /** The transaction vanished from the chain and its credit was reversed. Nothing was credited. */
  | { kind: "reversed" }
  /** The account moves, or has moved, to another cell. Nothing was credited. */
  | { kind: "frozen" }
  /** The balance does not cover the price. */
  | { kind: "insufficient"; balance: MicroUsd }
  | LimitRefusal;

/** A refusal by current limits of the key or its group. Nothing was claimed. */
export type LimitRefusal =
  | { kind: "capped"; limit: ExceededLimit }
  /** The key may not call the tool any more. */
  | { kind: "excluded" };

/** An earlier call with the same key or proof, found before any chain lookup. */
export type PriorOutcome =
  | Extract<
      AuthorizeResult,
      { kind: "replay" | "in_progress" | "mismatch" | "payment_used" | "unassigned" | "reversed" | "frozen" }
    >
  /**
   * The payment was credited for this call, which then failed: run it again without verifying the payment.
   * `idempotencyKey` is the key of the last attempt: a proof sent alone runs under it, so that both stand
   * for one call.
   */
  | { kind: "credited"; idempotencyKey: string | undefined }
  | undefined;

export interface PriorQuery extends PaymentId {
  accountId: string;
  fingerprint: Buffer;
  idempotencyKey: string | undefined;
  quoteId: string;
  span?: Span | undefined;
}

export interface CompletedRun {
  runId: string;
  outcome: "completed";
  receiptId: string;
  result: JsonObject;
  /** What the call is charged of the price it holds, micro-USD; all of it if undefined. */
  captured?: MicroUsd;
  /** The model that served it; undefined where there is none. */
  model?: ModelUse | undefined;
  span?: Span | undefined;
}

export interface FailedRun {
  runId: string;
  outcome: "failed" | "cancelled";
  error: RunError;
  model?: ModelUse | undefined;
  span?: Span | undefined;
}

/** How a run ends. */
export type RunEnd = CompletedRun | FailedRun;

/**
 * captured: with a receipt if paid; released: nothing charged; lost: another instance had already released
 * the run.
 */
export type RunEndResult =
  | { kind: "captured"; receipt: Receipt | undefined }
  | { kind: "released" }
  | { kind: "lost" };

/** The ledger: the only place where money moves. */
export interface Ledger extends PaymentCredits {
  findPrior(query: PriorQuery): Promise<PriorOutcome>;
  /** Claims key and payment, credits the payment, holds the price and creates the run, atomically. */
  authorize(call: CallAuthorization): Promise<AuthorizeResult>;
  /**
   * Charges the hold, or a part of it and releases the rest, and stores receipt and result. Does nothing
   * unless the run is active and owned by this instance.
   */
  capture(run: CompletedRun): Promise<RunEndResult>;
  /** Releases the hold. Does nothing unless the run is active and owned by this instance. */
  release(run: FailedRun): Promise<RunEndResult>;
  /** Entries minus open holds. */
  balance(accountId: string): Promise<MicroUsd>;
  /** What would refuse a call of that price from the balance; undefined: nothing. */
  refusalOf(call: CountedCall): Promise<LimitRefusal | undefined>;
  /** Whether the account holder has allowed this call once, whatever the limits of its key. */
  isAllowedOnce(call: CountedCall & Pick<CallAuthorization, "fingerprint">): Promise<boolean>;
}
