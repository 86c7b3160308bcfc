import type { Receipt, ReceiptStatus } from "../../domain/calls/receipt.ts";
import type { Run, RunStatus } from "../../domain/calls/run.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { Page } from "../../domain/core/page.ts";

/** Which page. */
export interface PageQuery<Status> {
  accountId: string;
  /** 1..100 */
  limit: number;
  cursor: string | undefined;
  status: Status | undefined;
  /** A page of a filtered list may have fewer items than asked for, and still a next one. */
  filter?: HistoryFilter | undefined;
}

/** What a list of receipts or runs is narrowed to; all of what is undefined. */
export interface HistoryFilter {
  tool?: string | undefined;
  /** `key_…` */
  keyId?: string | undefined;
  /** Made at this moment or later. */
  from?: Date | undefined;
  /** Made before this moment. */
  to?: Date | undefined;
}

/** Reads receipts. */
export interface Receipts {
  /** @throws ToolgateError INVALID_REQUEST for a cursor that is none of ours */
  list(query: PageQuery<ReceiptStatus>): Promise<Page<Receipt>>;
  find(accountId: string, receiptId: string): Promise<Receipt | undefined>;
}

/** Reads runs. */
export interface Runs {
  /** @throws ToolgateError INVALID_REQUEST for a cursor that is none of ours */
  list(query: PageQuery<RunStatus>): Promise<Page<Run>>;
  find(accountId: string, runId: string): Promise<Run | undefined>;
}

/** A payment on the chain, as the ledger has it. */
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

/** Which key called; undefined where that was not recorded. */
export interface CallingKey {
  keyId: string;
  name: string;
}

/** What a run rests on and led to. */
export interface RunDetails {
  run: Run;
  receipt: Receipt | undefined;
  key: CallingKey | undefined;
  idempotencyKey: string | undefined;
  /** Where it is still kept. */
  result: JsonObject | undefined;
  payment: ChainPayment | undefined;
}

/** Tells all of one run or receipt; undefined for what is not the account's. */
export interface History {
  ofRun(accountId: string, runId: string): Promise<RunDetails | undefined>;
  ofReceipt(accountId: string, receiptId: string): Promise<(RunDetails & { receipt: Receipt }) | undefined>;
}
