/**
 * Where a relayed transaction is. `claimed`: signed, and certainly not sent by anybody; `broadcast`: sent, or about to be;
 * `unknown`: sent, and not seen in time. Whoever wants to send has moved it to `broadcast` before.
 */
export type RelayState = "claimed" | "broadcast" | "unknown" | "confirmed" | "failed";

/** A claim as the database has it. */
export interface RelayClaim {
  readonly messageHash: Buffer;
  readonly quoteId: string;
  readonly txSignature: string;
  /** Wire bytes with both signatures, stored before anything is sent: only these are ever sent, again and again. */
  readonly signedTransaction: Uint8Array;
  readonly state: RelayState;
  /** Why it failed; undefined otherwise. */
  readonly reason: string | undefined;
  /** From this block height on the transaction cannot land any more. */
  readonly lastValidBlockHeight: bigint;
  /** ms */
  readonly claimedAt: number;
}

/** What is claimed. */
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

/** What a claim may cost. */
export interface RelayLimits {
  /** Lamports of fees per UTC day, all accounts together. */
  readonly dailyLamports: bigint;
  /** Relayed transactions per account and hour. */
  readonly perAccountHourly: number;
  /** Of those, how many may fail per account and hour, simulation included. */
  readonly failuresHourly: number;
}

/**
 * Which limit refuses a claim. `open`: as many payments of the account or wallet are under way as it may have; `unproven`: as many failed
 * on the chain within 24 hours.
 */
export type RelayQuota = "transactions" | "failures" | "open" | "unproven";

/** Whose part of the day's fees is spent: `reserve`: the part for accounts that have not paid yet. */
export type RelayBudget = "budget" | "reserve";

/** What came of a claim. */
export type RelayVerdict =
  /** It is new, and this instance's to send. */
  | { readonly kind: "claimed"; readonly claim: RelayClaim }
  /** The same message was claimed before. */
  | { readonly kind: "known"; readonly claim: RelayClaim }
  /** Another transaction for the same quote is under way, or was confirmed. */
  | { readonly kind: "quote_taken"; readonly txSignature: string }
  | { readonly kind: "quota"; readonly of: RelayQuota; readonly retryAfterSeconds: number }
  | { readonly kind: "budget"; readonly of: RelayBudget; readonly retryAfterSeconds: number };

/** The claims, in the database. A quote has one claim that is not `failed`, a message one claim in all. */
export interface RelayClaims {
  find(messageHash: Buffer): Promise<RelayClaim | undefined>;
  /** One transaction: message, quote, quota and budget together. */
  claim(claim: NewRelayClaim, limits: RelayLimits): Promise<RelayVerdict>;
  /**
   * claimed -> failed: it was not sent and never will be, by any instance. Gives the fee back to the budget, and counts as a failure.
   * @returns false when it is not `claimed` any more
   */
  reject(messageHash: Buffer, reason: string): Promise<boolean>;
  /**
   * Moves a claim on: claimed -> broadcast -> confirmed | failed | unknown, unknown -> confirmed | failed. Never back, never out of
   * confirmed or failed, and to `failed` only once it was sent (for the rest: {@link reject}). A failure with the reason `never_landed`
   * returns its fee to the budget. @returns whether it was moved
   */
  move(messageHash: Buffer, state: Exclude<RelayState, "claimed">, reason?: string): Promise<boolean>;
  /** Claims without an outcome that nobody has moved for `idleMs`, oldest first. */
  unfinished(idleMs: number, limit: number): Promise<RelayClaim[]>;
  /** Lamports claimed today (UTC). */
  spentToday(): Promise<bigint>;
}
