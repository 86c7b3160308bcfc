import type { Receipt, ReceiptStatus, CallOutcome, Run, RunStatus } from "../../domain/calls/receipt.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { Page, PageRequest } from "../../domain/core/page.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { Quotes } from "../../domain/payments/quote.ts";
import { parseRecord, type SearchedRecord } from "../operations/request-timeline.ts";

export interface PageQuery<Status> extends PageRequest {
  accountId: string;
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
interface CallingKey {
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

export interface OwnRecord {
  readonly kind: "run" | "receipt" | "deposit" | "key" | "request";
  readonly id: string;
  /** Tool of the call, or name of the key; empty for a deposit. */
  readonly title: string;
  readonly createdAt: Date;
}

/** Reads records of one account only. */
export interface OwnRecordQueries {
  /** At most 20. */
  find(accountId: string, record: SearchedRecord): Promise<OwnRecord[]>;
}

/** Finds the records of an account by their identifiers. */
export class OwnRecords {
  readonly #queries: OwnRecordQueries;
  readonly #quotes: Pick<Quotes, "open">;

  constructor(queries: OwnRecordQueries, quotes: Pick<Quotes, "open">) {
    this.#queries = queries;
    this.#quotes = quotes;
  }

  /** Returns the records that the text names or that belong to it; none for text of another kind. */
  async find(accountId: string, text: string): Promise<OwnRecord[]> {
    let record: SearchedRecord;
    try {
      record = parseRecord(text.trim(), this.#quotes);
    } catch (error) {
      if (error instanceof ToolgateError) return [];
      throw error;
    }
    return this.#queries.find(accountId, record);
  }
}
