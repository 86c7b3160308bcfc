import type { RateTier } from "../../domain/accounts/caller.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { Page, PageRequest } from "../../domain/core/page.ts";

export interface AccountBalance {
  /** Entries minus open holds. */
  available: MicroUsd;
  /** Open holds. */
  held: MicroUsd;
  /** Charged since 00:00 UTC. */
  spentToday: MicroUsd;
  /** Charged within the last 30 UTC days, including today. */
  spent30Days: MicroUsd;
  /** Threshold of the low-balance warning; undefined: off. */
  lowBalance: MicroUsd | undefined;
  /** Of each API key. */
  tier: RateTier;
  /** Shared by all API keys. */
  accountTier: RateTier;
}

export type EntryKind =
  | "deposit"
  | "assignment"
  | "charge"
  | "refund"
  | "reversal"
  | "reinstatement"
  | "adjustment"
  | "clearing";

export interface Entry {
  /** A uuid (UUIDv7): later entries have greater ones. */
  entryId: string;
  kind: EntryKind;
  /** Change of the balance; negative for debits. */
  amount: MicroUsd;
  /** Balance after this entry, without open holds. */
  balance: MicroUsd;
  createdAt: Date;
  /** Of charges and refunds. */
  tool: string | undefined;
  /** `rcpt_…`, of charges and refunds. */
  receiptId: string | undefined;
  /** Base58, of transfers on the chain. */
  txSignature: string | undefined;
  /** Reason given by the operator. */
  note: string | undefined;
}

export interface StatementRow extends Entry {
  /** ISO 8601 with microseconds, UTC. */
  time: string;
  /** `run_…`, of charges and refunds. */
  runId: string | undefined;
  /** Name of the calling key, of charges and refunds. */
  keyName: string | undefined;
}

export interface StatementExport {
  /** Balance before the first row and its time; undefined when the statement is complete. */
  opening: { balance: MicroUsd; time: string } | undefined;
  /** In ledger order, in batches. */
  rows: AsyncIterable<readonly StatementRow[]>;
}

/** A half-open interval; undefined ends are unbounded. */
export interface Span {
  from: Date | undefined;
  to: Date | undefined;
}

export interface Statements {
  /** @throws ToolgateError NOT_FOUND */
  balance(accountId: string): Promise<AccountBalance>;
  /** @param amount undefined: never warn */
  setLowBalance(accountId: string, amount: MicroUsd | undefined): Promise<void>;
  /** Newest first. @throws ToolgateError INVALID_REQUEST for an invalid cursor */
  entries(query: PageRequest & { accountId: string }): Promise<Page<Entry>>;
  /**
   * Streams the entries of an interval, oldest first, as of now. Holds no connection between two batches.
   * @throws ToolgateError UNAVAILABLE when too many exports of the account are waiting
   */
  export(accountId: string, span: Span): Promise<StatementExport>;
}
