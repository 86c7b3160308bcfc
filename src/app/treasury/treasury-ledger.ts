import { type MicroUsd, formatUsdc } from "../../domain/core/money.ts";
import type { PaymentId } from "../../domain/payments/payment-id.ts";
import type { Receipt } from "../../domain/calls/receipt.ts";
import type { Page, PageRequest } from "../../domain/core/page.ts";
import type { Clock } from "../../domain/core/clock.ts";

export interface WatchState {
  /** Every movement up to this slot is recorded. */
  slot: bigint;
  /** Last time the watch reached the head of the history. */
  checkedAt: Date;
  /** Balance at the start of the watch, micro-USD. */
  opening: MicroUsd;
  /** Expected balance: `opening` plus all recorded movements, micro-USD. */
  expected: MicroUsd;
}

/** A movement with the account and the quote or deposit of its memo; undefined without one. */
export interface AttributedMovement extends Omit<Movement, "balanceAfter"> {
  attribution: { accountId: string; quoteId: string } | undefined;
}

export type RecordResult =
  /** Already recorded. */
  | "known"
  /** A payment credited by its proof, now finalized. */
  | "finalized"
  /** A payment without a proof, or a deposit: credited to the account of its memo. */
  | "credited"
  /** No account: kept in suspense. */
  | "suspended"
  /** It left the treasury: booked against the operator. */
  | "withdrawn"
  /** A reversed payment that landed after all: credited again. */
  | "reinstated"
  /** Credited with another amount. Nothing was changed; the operator must act. */
  | "mismatch";

/** The treasury's ledger: each movement of the token account is recorded once. */
export interface TreasuryLedger {
  /** Acquires or renews the leader lease for `leaseMs`. @returns whether this instance is the leader */
  acquireLeadership(leaseMs: number): Promise<boolean>;
  /** Releases the lease, so that another instance need not wait for its expiry. */
  releaseLeadership(): Promise<void>;
  /** Installation time by the database's clock: no quote is older. */
  installedAt(): Promise<Date>;
  /** Undefined before the first watch of this account. */
  watch(tokenAccount: string): Promise<WatchState | undefined>;
  /** Starts the watch of an account, once. The opening balance is the operator's. */
  startWatch(tokenAccount: string, opening: { amount: MicroUsd; slot: bigint }): Promise<void>;
  /** Returns the unrecorded movements, each with the amount that a proof credited for it. */
  unrecorded(
    tokenAccount: string,
    txSignatures: readonly string[],
  ): Promise<{ txSignature: string; credited: MicroUsd | undefined }[]>;
  /** Records a movement. Idempotent; 0n changes nothing. */
  record(tokenAccount: string, movement: AttributedMovement): Promise<RecordResult>;
  /**
   * Advances the watch to a slot whose history is recorded; never moves back.
   * @param whole whether the history up to the head is recorded (updates `checkedAt`); default true
   */
  advanceWatch(tokenAccount: string, slot: bigint, whole?: boolean): Promise<void>;
  /** Returns unfinalized payments of a network credited at least `minAgeMs` ago, oldest first. */
  unfinalized(query: { network: string; minAgeMs: number; limit: number }): Promise<UnfinalizedPayment[]>;
  /** Marks payments as finalized. @returns how many changed */
  finalize(network: string, references: readonly string[]): Promise<number>;
  /** Moves payments without an outcome to the end of the queue. */
  postpone(network: string, references: readonly string[]): Promise<void>;
  /**
   * Reverses the credit of a payment, once. The balance may become negative.
   * @returns undefined when already reversed, finalized or unknown
   */
  reverse(
    payment: PaymentId,
  ): Promise<{ accountId: string; amount: MicroUsd; balance: MicroUsd } | undefined>;
  /** Number and sum of transfers in suspense, micro-USD. */
  suspended(): Promise<{ count: number; amount: MicroUsd }>;
}

export interface Refunds {
  /**
   * Refunds a receipt to its account, once.
   * @returns the receipt; `refunded` is false when it was refunded before
   * @throws ToolgateError NOT_FOUND for an unknown receipt
   */
  refund(refund: { receiptId: string; reason: string }): Promise<{ receipt: Receipt; refunded: boolean }>;
}

export type SuspenseStatus = "open" | "assigned";

export type SuspenseRecipient = { accountId: string } | "operator";

/** A transfer to the treasury that names no known quote or deposit. */
export interface SuspendedTransfer {
  txSignature: string;
  amount: MicroUsd;
  /** All memos on the chain; undefined without any. */
  memos: string | undefined;
  /** Base58; undefined when unknown. */
  payer: string | undefined;
  blockTime: Date;
  status: SuspenseStatus;
  /** Undefined while open. */
  assignedTo: SuspenseRecipient | undefined;
  reason: string | undefined;
}

/** Transfers without an account. */
export interface Suspense {
  /** Newest first. @throws ToolgateError INVALID_REQUEST for an invalid cursor */
  list(query: PageRequest & { status: SuspenseStatus | undefined }): Promise<Page<SuspendedTransfer>>;
  /**
   * Assigns a transfer to a recipient. Idempotent for one recipient.
   * @throws ToolgateError NOT_FOUND for an unknown transfer or account; INVALID_REQUEST when assigned to
   * another
   */
  assign(assignment: {
    txSignature: string;
    to: SuspenseRecipient;
    reason: string;
  }): Promise<SuspendedTransfer>;
}

export interface TreasuryCheckDeps {
  readonly clock: Clock;
  /** WATCH_INTERVAL_MS. */
  readonly watchIntervalMs: number;
}

const MINUTE_MS = 60_000;

/** How long a difference must last while the watch advances, ms: a shorter one may be a new payment. */
const SETTLED_MS = 10_000;

/** Finds problems of the treasury. Remembers differences: one that the watch resolves is not reported. */
export class TreasuryCheck {
  readonly #deps: TreasuryCheckDeps;
  #seen: { held: MicroUsd; expected: MicroUsd; checkedAt: number } | undefined;

  constructor(deps: TreasuryCheckDeps) {
    this.#deps = deps;
  }

  /**
   * @param held finalized balance on the chain, micro-USD; undefined when no endpoint answers
   * @param watch read from the ledger after `held`; undefined before the first watch
   * @returns undefined when everything is right
   */
  problem(held: MicroUsd | undefined, watch: WatchState | undefined): string | undefined {
    if (!watch) return "The treasury is not watched yet: no instance has been able to read its history.";
    const { clock, watchIntervalMs } = this.#deps;
    const idleMs = clock.now() - watch.checkedAt.getTime();
    if (idleMs > Math.max(2 * MINUTE_MS, 3 * watchIntervalMs)) {
      return (
        `The treasury's history was last read ${Math.floor(idleMs / MINUTE_MS)} minutes ago: payments ` +
        "since then are not found."
      );
    }
    if (held === undefined) return "No endpoint returns the treasury's balance.";
    return this.#difference(held, watch);
  }

  #difference(held: MicroUsd, { expected, checkedAt }: WatchState): string | undefined {
    const difference = held - expected;
    if (difference === 0n) this.#seen = undefined;
    if (difference === 0n) return undefined;
    if (this.#seen?.held !== held || this.#seen.expected !== expected) {
      this.#seen = { held, expected, checkedAt: checkedAt.getTime() };
    }
    if (checkedAt.getTime() - this.#seen.checkedAt < SETTLED_MS) return undefined;
    return difference > 0n
      ? `The treasury holds ${formatUsdc(difference)} USDC more than the ledger says.`
      : `The treasury holds ${formatUsdc(-difference)} USDC less than the ledger says.`;
  }
}

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
