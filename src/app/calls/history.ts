import type { Receipt, ReceiptStatus } from "../../domain/calls/receipt.ts";
import type { CallOutcome, Run, RunStatus } from "../../domain/calls/run.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { Page } from "../../domain/core/page.ts";

export interface PageQuery<Status> {
  accountId: string;
  /** 1..100 */
  limit: number;
  cursor: string | undefined;
  status: Status | undefined;
  /** A page of a filtered list may have fewer items than its limit and still have a next page. */
  filter?: HistoryFilter | undefined;
}

/** Filters of receipts and runs. Undefined fields match everything. */
export interface HistoryFilter {
  tool?: string | undefined;
  /** `key_…` */
  keyId?: string | undefined;
  model?: string | undefined;
  /** Inclusive. */
  from?: Date | undefined;
  /** Exclusive. */
  to?: Date | undefined;
  outcome?: CallOutcome | undefined;
}

export interface Receipts {
  /** @throws ToolgateError INVALID_REQUEST for an invalid cursor */
  list(query: PageQuery<ReceiptStatus>): Promise<Page<Receipt>>;
  find(accountId: string, receiptId: string): Promise<Receipt | undefined>;
}

export interface Runs {
  /** @throws ToolgateError INVALID_REQUEST for an invalid cursor */
  list(query: PageQuery<RunStatus>): Promise<Page<Run>>;
  find(accountId: string, runId: string): Promise<Run | undefined>;
}

/** A payment as the ledger stores it. */
export interface ChainPayment {
  /** Base58. */
  txSignature: string;
  amount: MicroUsd;
  payer: string | undefined;
  slot: bigint;
  blockTime: Date;
  finalized: boolean;
  reversed: boolean;
}

/** The key that made the call; undefined when it was not recorded. */
export interface CallingKey {
  keyId: string;
  name: string;
}

/** Details of a call in lists, besides its run or receipt. */
export interface CallInfo {
  key: CallingKey | undefined;
  /** Undefined while the run is active. */
  outcome: CallOutcome | undefined;
}

/** A run with its receipt, payment and result. */
export interface RunDetails extends CallInfo {
  run: Run;
  receipt: Receipt | undefined;
  idempotencyKey: string | undefined;
  /** Undefined once the stored result has expired. */
  result: JsonObject | undefined;
  payment: ChainPayment | undefined;
}

/** Returns the details of one run or receipt; undefined when the account has no such record. */
export interface History {
  /** Key and outcome of runs of the account, by run id. */
  callsOf(accountId: string, runIds: readonly string[]): Promise<ReadonlyMap<string, CallInfo>>;
  ofRun(accountId: string, runId: string): Promise<RunDetails | undefined>;
  ofReceipt(accountId: string, receiptId: string): Promise<(RunDetails & { receipt: Receipt }) | undefined>;
}
