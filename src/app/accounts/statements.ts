import type { RateTier } from "../../domain/accounts/rate-limit.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { Page } from "../../domain/core/page.ts";

/** An account's money at one moment. */
export interface AccountBalance {
  /** Spendable: entries less open holds. */
  available: MicroUsd;
  /** Open holds. */
  held: MicroUsd;
  /** Charged since 00:00 UTC. */
  spentToday: MicroUsd;
  /** Charged on the last 30 days of UTC, today included. */
  spent30Days: MicroUsd;
  /** Below it the owner wants to be warned; undefined: never. */
  lowBalance: MicroUsd | undefined;
  /** Of each key. */
  tier: RateTier;
  /** Of the account, over all its keys. */
  accountTier: RateTier;
}

/** What kind an entry of an account is of. */
export type EntryKind =
  | "deposit"
  | "assignment"
  | "charge"
  | "refund"
  | "reversal"
  | "reinstatement"
  | "adjustment";

/** One transfer of the ledger, as its account sees it. */
export interface Entry {
  transferId: bigint;
  kind: EntryKind;
  /** What it added to the balance; negative: took. */
  amount: MicroUsd;
  /** All entries up to and with this one. Open holds are not entries. */
  balance: MicroUsd;
  createdAt: Date;
  /** Of a charge or refund. */
  tool: string | undefined;
  /** `rcpt_…`, of a charge or refund. */
  receiptId: string | undefined;
  /** Base58, of what has a transaction on the chain. */
  txSignature: string | undefined;
  /** What an operator wrote of it. */
  note: string | undefined;
}

/** An entry as a file tells it. */
export interface StatementRow extends Entry {
  /** ISO 8601 with microseconds, UTC. */
  time: string;
  /** `run_…`, of a charge or refund. */
  runId: string | undefined;
  /** Name of the key that called, of a charge or refund. */
  keyName: string | undefined;
}

/** A statement over a span of time, all of one moment. */
export interface StatementExport {
  /** What the balance was before the first row, and since when; undefined when everything is told. */
  opening: { balance: MicroUsd; time: string } | undefined;
  /** In the order of the ledger, some at a time. */
  rows: AsyncIterable<readonly StatementRow[]>;
}

/** Of which span of time: half-open; what is undefined has no end. */
export interface Span {
  from: Date | undefined;
  to: Date | undefined;
}

/** Reads what the ledger says of one account. */
export interface Statements {
  /** @throws ToolgateError NOT_FOUND */
  balance(accountId: string): Promise<AccountBalance>;
  /** @param amount undefined: never warn */
  setLowBalance(accountId: string, amount: MicroUsd | undefined): Promise<void>;
  /**
   * Newest first, each with the balance after it.
   * @throws ToolgateError INVALID_REQUEST for a cursor that is none of this account's
   */
  entries(query: { accountId: string; limit: number; cursor: string | undefined }): Promise<Page<Entry>>;
  /**
   * The entries of a span, oldest first, however many there are: those of now, whatever is added while they are read. Nothing is held
   * for the reader between two pages.
   * @throws ToolgateError UNAVAILABLE when too many of the account wait for it
   */
  export(accountId: string, span: Span): Promise<StatementExport>;
}
