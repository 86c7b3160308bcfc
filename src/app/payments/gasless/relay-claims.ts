import type { Metrics } from "../../operations/metrics.ts";

/**
 * State of a relayed transaction. `claimed`: signed and not sent; `broadcast`: sent or about to be;
 * `unknown`: sent and not seen in time. A sender moves it to `broadcast` first.
 */
export type RelayState = "claimed" | "broadcast" | "unknown" | "confirmed" | "failed";

export interface RelayClaim {
  readonly messageHash: Buffer;
  readonly quoteId: string;
  readonly txSignature: string;
  /** Wire bytes with both signatures, stored before the first send. Only these bytes are ever sent. */
  readonly signedTransaction: Uint8Array;
  readonly state: RelayState;
  /** Failure; undefined otherwise. */
  readonly reason: string | undefined;
  /** Above this block height the transaction can no longer land. */
  readonly lastValidBlockHeight: bigint;
  /** ms */
  readonly claimedAt: number;
}

export interface NewRelayClaim {
  readonly messageHash: Buffer;
  readonly quoteId: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly txSignature: string;
  readonly signedTransaction: Uint8Array;
  readonly feeLamports: bigint;
  readonly lastValidBlockHeight: bigint;
}

export interface RelayLimits {
  /** Lamports of fees per UTC day, all accounts together. */
  readonly dailyLamports: bigint;
  readonly perAccountHourly: number;
  /** Failed transactions per account per hour, simulations included. */
  readonly failuresHourly: number;
}

/**
 * The limit that refuses a claim. `open`: payments in progress of the account or wallet; `unproven`: its
 * failures on the chain within 24 hours.
 */
export type RelayQuota = "transactions" | "failures" | "open" | "unproven";

/** The budget that is spent: `reserve` is the share of accounts that have not paid yet. */
export type RelayBudget = "budget" | "reserve";

export type RelayVerdict =
  /** New: this instance sends it. */
  | { readonly kind: "claimed"; readonly claim: RelayClaim }
  /** The message was already claimed. */
  | { readonly kind: "known"; readonly claim: RelayClaim }
  /** Another transaction for the quote is in progress or confirmed. */
  | { readonly kind: "quote_taken"; readonly txSignature: string }
  | { readonly kind: "quota"; readonly of: RelayQuota; readonly retryAfterSeconds: number }
  | { readonly kind: "budget"; readonly of: RelayBudget; readonly retryAfterSeconds: number };

/** Stored claims. A quote has at most one claim that is not `failed`, a message exactly one. */
export interface RelayClaims {
  find(messageHash: Buffer): Promise<RelayClaim | undefined>;
  /** Checks and stores message, quote, quota and budget in one transaction. */
  claim(claim: NewRelayClaim, limits: RelayLimits): Promise<RelayVerdict>;
  /**
   * claimed -> failed: no instance has sent it or ever will. Returns the fee to the budget and counts as a
   * failure.
   * @returns false when it is no longer `claimed`
   */
  reject(messageHash: Buffer, reason: string): Promise<boolean>;
  /**
   * Moves a claim: claimed -> broadcast -> confirmed | failed | unknown, unknown -> confirmed | failed.
   * Never leaves `confirmed` or `failed`, and fails only sent claims ({@link reject} is for the others).
   * The reason `never_landed` returns the fee to the budget. @returns whether the state changed
   */
  move(messageHash: Buffer, state: Exclude<RelayState, "claimed">, reason?: string): Promise<boolean>;
  /** Returns claims without an outcome and unchanged for `idleMs`, oldest first. */
  unfinished(idleMs: number, limit: number): Promise<RelayClaim[]>;
  /** Lamports claimed today (UTC). */
  spentToday(): Promise<bigint>;
}

/** Counts new claims and state changes. */
export class CountedRelayClaims implements RelayClaims {
  readonly #book: RelayClaims;
  readonly #metrics: Metrics;

  constructor(book: RelayClaims, metrics: Metrics) {
    this.#book = book;
    this.#metrics = metrics;
    for (const state of ["claimed", "broadcast", "unknown", "confirmed", "failed"] as const)
      this.#count(state, 0);
    for (const limit of ["transactions", "failures", "open", "unproven", "budget", "reserve"] as const)
      metrics.count("toolgate_relay_refused_total", 0, { limit });
  }

  find(messageHash: Buffer): Promise<RelayClaim | undefined> {
    return this.#book.find(messageHash);
  }

  async claim(claim: NewRelayClaim, limits: RelayLimits): Promise<RelayVerdict> {
    const verdict = await this.#book.claim(claim, limits);
    if (verdict.kind === "claimed") this.#count("claimed");
    else if ("of" in verdict) this.#metrics.count("toolgate_relay_refused_total", 1, { limit: verdict.of });
    return verdict;
  }

  async reject(messageHash: Buffer, reason: string): Promise<boolean> {
    const rejected = await this.#book.reject(messageHash, reason);
    if (rejected) this.#count("failed");
    return rejected;
  }

  async move(messageHash: Buffer, state: Exclude<RelayState, "claimed">, reason?: string): Promise<boolean> {
    const moved = await this.#book.move(messageHash, state, reason);
    if (moved) this.#count(state);
    return moved;
  }

  unfinished(idleMs: number, limit: number): Promise<RelayClaim[]> {
    return this.#book.unfinished(idleMs, limit);
  }

  spentToday(): Promise<bigint> {
    return this.#book.spentToday();
  }

  #count(state: RelayState, by = 1): void {
    this.#metrics.count("toolgate_relay_transactions_total", by, { state });
  }
}
