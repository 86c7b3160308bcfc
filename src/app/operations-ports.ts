import type { JsonObject } from "../domain/json.ts";
import type { MicroUsd } from "../domain/money.ts";
import type { AuditFinding } from "./audit.ts";
import type { Page } from "./ports.ts";

/** What operators do, as their log names it. */
export type ActionName =
  | "account.create"
  | "account.adjust"
  | "account.tier"
  | "account.block"
  | "account.unblock"
  | "account.operator"
  | "key.create"
  | "key.rotate"
  | "key.revoke"
  | "suspense.assign"
  | "receipt.refund";

/** Who acts, and with what. */
export interface Actor {
  /** The operator's account; undefined at the command line. */
  accountId: string | undefined;
  /** A session, `ses_…`, a key, `key_…`, or `cli:` and the name of the machine's user. */
  name: string;
}

/** What is about to be done. */
export interface NewAction {
  actor: Actor;
  name: ActionName;
  /** What it is done to, e.g. an account's identifier. */
  target: string;
  /** With what. Secrets are none of it. */
  details: JsonObject;
  /** What makes it the same when it is done to the same target again, e.g. an idempotency key; undefined where each time counts. */
  idempotencyKey: string | undefined;
}

/** What was done. */
export interface OperatorAction extends Omit<NewAction, "name" | "details" | "idempotencyKey"> {
  /** `act_…` */
  actionId: string;
  at: Date;
  name: string;
  /** JSON. */
  details: string;
  /** Why it failed; undefined when it did not. */
  failure: string | undefined;
  /** `act_…` of the first that did the same; undefined where it is the first. */
  repeatOf: string | undefined;
}

/** The log of what operators do. Nobody can change or delete what it holds. */
export interface OperatorActionLog {
  /** Writes what is about to be done. @returns `act_…`. @throws ToolgateError UNAVAILABLE when it cannot be written */
  record(action: NewAction): Promise<string>;
  /** Writes that it was not done. */
  recordFailure(actionId: string, failure: string): Promise<void>;
  /** Newest first. @throws ToolgateError INVALID_REQUEST for a cursor that is none of ours */
  list(query: { limit: number; cursor: string | undefined }): Promise<Page<OperatorAction>>;
}

/** One minute of calls, of all instances. */
export interface CallMinute {
  /** Its first moment. */
  start: Date;
  completed: number;
  /** Failed or cancelled. */
  failed: number;
  /** What was charged in it, micro-USD. */
  charged: MicroUsd;
}

/** What became of a payment that did not buy what it was for. */
export type FailedPaymentKind = "reversed" | "unused" | "relay";

/** A payment that did not buy what it was for, as it is recorded. */
export interface FailedPayment {
  txSignature: string;
  kind: FailedPaymentKind;
  /** Undefined where it was nobody's. */
  accountId: string | undefined;
  quoteId: string | undefined;
  /** What the treasury gained, micro-USD; undefined where it gained nothing. */
  amount: MicroUsd | undefined;
  /** When the chain made its block; undefined where it made none. */
  blockTime: Date | undefined;
  /** Whether another payment bought the call of its quote. */
  quotePaid: boolean;
  /** Why the relay gave it up; undefined for others. */
  relayReason: string | undefined;
  at: Date;
}

/** What the database tells the operator of the service. */
export interface OperationsQueries {
  /** Calls that run right now, and what accounts could spend or get back: the sum of their balances and open holds, micro-USD. */
  figures(): Promise<{ activeRuns: number; liabilities: MicroUsd }>;
  /** The last 60 minutes, oldest first. */
  minutes(): Promise<CallMinute[]>;
  /** What was charged in all, less refunds, micro-USD; undefined while more is uncounted than can be in one go. */
  revenue(): Promise<MicroUsd | undefined>;
  /** Newest first. @throws ToolgateError INVALID_REQUEST for a cursor that is none of ours */
  failedPayments(query: { limit: number; cursor: string | undefined }): Promise<Page<FailedPayment>>;
}

/** How an endpoint of the chain is. */
export interface EndpointStatus {
  /** Host and port: the rest of its address may be a secret. */
  host: string;
  /** Confirmed; undefined when it did not answer. */
  slot: bigint | undefined;
  /** How long it took to answer, ms; undefined when it did not. */
  latencyMs: number | undefined;
  /** Why it did not answer, in words of this program alone; undefined when it did. */
  problem: string | undefined;
}

/** How the chain is. */
export interface ChainStatus {
  /** In the operator's order. */
  endpoints: EndpointStatus[];
  /** What the treasury's token account holds, finalized, micro-USD; undefined when no endpoint tells. */
  held: MicroUsd | undefined;
  /** What the fee payer holds, lamports; undefined when no endpoint tells, or none was asked for. */
  lamports: bigint | undefined;
}

/** Looks at every endpoint of the chain at once. */
export interface ChainMonitor {
  /** Never takes longer than seconds, and never fails: what cannot be told is a problem of its endpoint. */
  check(feePayer: string | undefined): Promise<ChainStatus>;
}

/** What an audit found. */
export interface LastAudit {
  /** When it ended. */
  at: Date;
  findings: readonly AuditFinding[];
}
