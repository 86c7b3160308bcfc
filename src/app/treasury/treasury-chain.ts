import type { MicroUsd } from "../../domain/core/money.ts";

/** One finalized transaction in the history of the treasury's token account. */
export interface HistoryEntry {
  /** Base58, 64 bytes. */
  txSignature: string;
  slot: bigint;
  /** Undefined where the node does not tell it. */
  blockTime: Date | undefined;
  /** Whether it failed, so that it moved nothing. */
  failed: boolean;
}

/** Which part of the history. */
export interface HistoryQuery {
  /** Everything in this slot and after it. */
  fromSlot: bigint;
  /** Everything from this time on; where it is earlier than `fromSlot`, the later bound counts. */
  fromTime: Date;
  /** Which endpoint is asked first: the turn modulo their number. Another turn reads the history of another node. */
  firstEndpoint: number;
  signal: AbortSignal;
}

/** What a finalized transaction did to the treasury's token account. */
export interface Movement {
  txSignature: string;
  slot: bigint;
  blockTime: Date;
  /** What the account gained, micro-USD; negative: what left it; 0n: it was named only. */
  change: bigint;
  /** What the account held afterwards, micro-USD. */
  balanceAfter: MicroUsd;
  /** The text of the one memo that is ours; undefined when there is none, or more than one. */
  memo: string | undefined;
  /** Every top-level memo, for the operator's eyes: at most 256 characters. */
  memos: string | undefined;
  /** Owner of the token account that sent the largest part, base58. */
  payer: string | undefined;
}

/** How a payment that was accepted before finality stands by now. */
export type FinalityStatus =
  /** It can no longer be forked away, and it paid what was credited. */
  | "finalized"
  /** Not finalized yet, or it cannot be told: ask again. */
  | "pending"
  /** Every endpoint answered, is far beyond its slot and does not know it: it can no longer land. */
  | "vanished"
  /** It landed, finalized, and failed: it paid nothing. */
  | "failed"
  /** It is finalized, and pays another amount than was credited. Nothing is done but to tell the operator. */
  | "different";

/** A payment that was credited before it was finalized. */
export interface UnfinalizedPayment {
  txSignature: string;
  slot: bigint;
  amount: MicroUsd;
}

/** The treasury's token account on the chain, as far as it is finalized. Everything throws ToolgateError UNAVAILABLE when it cannot be told. */
export interface TreasuryChain {
  /** The token account, base58. */
  readonly tokenAccount: string;
  /** How many endpoints there are. */
  readonly endpoints: number;
  /**
   * The finalized history down to its bound, oldest first and whole: a page that fails fails it all.
   * `before` is the newest entry that lies before the bound; undefined when the history begins within it.
   */
  history(query: HistoryQuery): Promise<{ entries: HistoryEntry[]; before: HistoryEntry | undefined }>;
  /** What one finalized transaction did. @throws ToolgateError UNAVAILABLE also while no endpoint has it finalized */
  movement(txSignature: string, signal: AbortSignal): Promise<Movement>;
  /** What the account holds, finalized, micro-USD. */
  balance(signal: AbortSignal): Promise<MicroUsd>;
  /** How these payments stand, in their order. An endpoint that cannot answer makes what the others do not know `pending`. */
  finalityStatuses(payments: readonly UnfinalizedPayment[], signal: AbortSignal): Promise<FinalityStatus[]>;
}
