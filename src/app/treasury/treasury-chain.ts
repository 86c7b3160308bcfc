import type { MicroUsd } from "../../domain/core/money.ts";

/** A finalized transaction in the history of the treasury's token account. */
export interface HistoryEntry {
  /** Base58, 64 bytes. */
  txSignature: string;
  slot: bigint;
  /** Undefined when the node does not return it. */
  blockTime: Date | undefined;
  /** Whether it failed and moved nothing. */
  failed: boolean;
}

export interface HistoryQuery {
  /** From this slot on, inclusive. */
  fromSlot: bigint;
  /** From this time on; the later of the two bounds counts. */
  fromTime: Date;
  /** The endpoint to ask first, modulo their number. Another value reads another node's history. */
  firstEndpoint: number;
  signal: AbortSignal;
}

/** Effect of a finalized transaction on the treasury's token account. */
export interface Movement {
  txSignature: string;
  slot: bigint;
  blockTime: Date;
  /** Change of the balance, micro-USD; negative for withdrawals; 0n when the account was only named. */
  change: bigint;
  /** Balance afterwards, micro-USD. */
  balanceAfter: MicroUsd;
  /** The one memo in our format; undefined for none or several. */
  memo: string | undefined;
  /** All top-level memos for the operator, at most 256 characters. */
  memos: string | undefined;
  /** Owner of the token account that sent the most, base58. */
  payer: string | undefined;
}

/** Finality status of a payment that was credited earlier. */
export type FinalityStatus =
  /** It is final, and it paid the credited amount. */
  | "finalized"
  /** Not finalized yet, or unknown: ask again. */
  | "pending"
  /** Every endpoint responds, is far past its slot and does not find it: it can no longer land. */
  | "vanished"
  /** It is finalized and failed: it paid nothing. */
  | "failed"
  /** It is finalized with another amount. Only reported to the operator. */
  | "different";

/** A payment that was credited before it was finalized. */
export interface UnfinalizedPayment {
  /** On the queried network. */
  reference: string;
  slot: bigint;
  amount: MicroUsd;
}

/** The finalized state of the treasury's token account. All methods throw ToolgateError UNAVAILABLE. */
export interface TreasuryChain {
  /** Base58. */
  readonly tokenAccount: string;
  /** Number of endpoints. */
  readonly endpoints: number;
  /**
   * Returns the complete finalized history from the bound on, oldest first; a failed page fails the whole.
   * `before` is the newest entry older than the bound; undefined when the history starts within it.
   */
  history(query: HistoryQuery): Promise<{ entries: HistoryEntry[]; before: HistoryEntry | undefined }>;
  /**
   * Returns the effect of one transaction. @throws ToolgateError UNAVAILABLE also while no endpoint has it
   * finalized
   */
  movement(txSignature: string, signal: AbortSignal): Promise<Movement>;
  /** Finalized balance, micro-USD. */
  balance(signal: AbortSignal): Promise<MicroUsd>;
  /**
   * Returns statuses in the order of the payments. If an endpoint fails, payments unknown to the others are
   * `pending`.
   */
  finalityStatuses(payments: readonly UnfinalizedPayment[], signal: AbortSignal): Promise<FinalityStatus[]>;
}
