import type { Quote } from "../domain/quote.ts";

// The gasless relay: callers sign, the gateway pays the chain's fee (x402 v2, exact scheme on SVM). Bytes are wire bytes of Solana
// transactions, addresses, signatures and blockhashes base58, fees lamports.

/**
 * A transaction of the one form that is relayed, decoded and known by its message: every rule that needs no quote was checked, so that
 * no signature of ours is ever computed over anything else. Whether it pays the quote in question is left to {@link Sponsor.sign}.
 */
export interface RelayedTransaction {
  /** The wire bytes as the caller sent them; our signature is missing. */
  readonly bytes: Uint8Array;
  /** SHA-256 of the message bytes, 32 bytes: the transaction's identity. Not of the wire bytes, whose first signature the sender can change. */
  readonly messageHash: Buffer;
  /**
   * The signature it has on the chain once we sign: Ed25519 is deterministic. With it anybody can send the transaction, at our cost:
   * it is told to nobody, and logged nowhere, before the relay has sent it.
   */
  readonly txSignature: string;
  /** Its one memo, `<prefix>:<quote_id>`; which quote that is, and whose, is not checked yet. */
  readonly memo: string;
  /** Who signs and pays the USDC, base58. */
  readonly payer: string;
  readonly blockhash: string;
}

/** A blockhash that callers may build on. */
export interface RecentBlockhash {
  readonly blockhash: string;
  readonly lastValidBlockHeight: bigint;
}

/** Who wants what relayed. */
export interface RelayRequest {
  readonly transaction: RelayedTransaction;
  /** The quote that its memo names, opened; whether it belongs to the caller and the call was checked before. */
  readonly quote: Quote;
  readonly accountId: string;
  readonly keyId: string;
  /** When the call came in, ms: a quote that had expired by then is not paid for any more. */
  readonly receivedAt: number;
  readonly signal: AbortSignal;
}

/** A transaction that a wallet can sign. */
export interface UnsignedTransaction {
  /** Wire bytes, both signatures zero. */
  readonly transaction: Uint8Array;
  readonly message: Uint8Array;
  readonly feePayer: string;
  readonly lastValidBlockHeight: bigint;
}

/** The relay, as the paid-call path knows it. */
export interface Relay {
  /** Base58. */
  readonly feePayer: string;
  /**
   * Decodes a transaction and finds its identity. One that was relayed before is known again even when the fee payer has changed since.
   * @throws ToolgateError INVALID_PAYMENT: 400 for what is no transaction, 402 for what is none of the one form that is relayed, naming
   *   the rule
   */
  identify(bytes: Uint8Array): Promise<RelayedTransaction>;
  /**
   * Sees a payment onto the chain: checks it against the quote, claims message and quote, signs, simulates, sends, waits until it is
   * confirmed. The same transaction may come again and again, on any instance: it is sent as often as need be and claimed once.
   * @returns when it was claimed, ms: that is when the payer paid
   * @throws ToolgateError INVALID_PAYMENT (402; nothing was sent, or it failed on the chain), QUOTE_EXPIRED, RATE_LIMITED (a quota
   *   of account or wallet), PAYMENT_PENDING (sent, outcome unknown: repeat the same), UNAVAILABLE (budget spent, or the network cannot be asked)
   */
  relay(order: RelayRequest): Promise<{ claimedAt: number }>;
  /** A blockhash for a 402 answer, a few seconds old at most; undefined when the network does not tell. Never throws. */
  recentBlockhash(): Promise<RecentBlockhash | undefined>;
  /**
   * The transaction that pays the quote, with the memo `<prefix>:<quote_id>`.
   * @throws ToolgateError INVALID_REQUEST (payer), INVALID_PAYMENT (a quote too cheap to relay), QUOTE_EXPIRED, UNAVAILABLE
   */
  build(payment: { quote: Quote; payer: string; signal: AbortSignal }): Promise<UnsignedTransaction>;
}

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

/** What is asked of the chain to relay. Methods throw ToolgateError UNAVAILABLE when no endpoint can be asked. */
export interface RelayChain {
  latestBlockhash(signal: AbortSignal): Promise<RecentBlockhash>;
  /**
   * Whether the blockhash can still be built on, and the block height, asked of the same endpoint after that: whatever the endpoint knows
   * ends within 150 blocks of it.
   */
  blockhashStatus(blockhash: string, signal: AbortSignal): Promise<{ valid: boolean; blockHeight: bigint }>;
  /** Runs it without sending, signatures checked, at `processed`. @returns why it would fail; undefined: it would not */
  simulate(signedTransaction: Uint8Array, signal: AbortSignal): Promise<string | undefined>;
  /** Sends the bytes to every endpoint; one that has them already is as good. @throws ToolgateError UNAVAILABLE when none took them */
  send(signedTransaction: Uint8Array, signal: AbortSignal): Promise<void>;
  /**
   * What became of a transaction, asked of all endpoints: `absent` only when every endpoint says so. `expired`: their block height is
   * past `lastValidBlockHeight` by a margin, so that an absent transaction cannot land any more.
   */
  outcome(query: {
    txSignature: string;
    lastValidBlockHeight: bigint;
    signal: AbortSignal;
  }): Promise<
    { kind: "confirmed" } | { kind: "failed"; reason: string } | { kind: "absent"; expired: boolean }
  >;
  /** Lamports that the fee payer holds. */
  balance(address: string, signal: AbortSignal): Promise<bigint>;
}

/** A transaction that keeps the rules, and whose fee payer may be another. */
export type DecodedTransaction = Omit<RelayedTransaction, "txSignature"> & {
  readonly txSignature: string | undefined;
};

/** What a signature of ours stands for: what is left to sign after every check. Implemented in src/payments/gasless. */
export interface Sponsor {
  readonly feePayer: string;
  /**
   * Reads a transaction strictly; sends and stores nothing.
   * @returns `txSignature` undefined where another than us is its fee payer
   * @throws ToolgateError INVALID_PAYMENT: 400 for what is no transaction, 402 for the first rule that is broken (docs/gasless.md)
   */
  decode(bytes: Uint8Array): DecodedTransaction;
  /**
   * Every check once more and those that need the quote (docs/gasless.md), then our signature.
   * @throws ToolgateError INVALID_PAYMENT naming the first rule that is broken
   */
  sign(
    transaction: Pick<RelayedTransaction, "bytes">,
    quote: Quote,
  ): { signedTransaction: Uint8Array; feeLamports: bigint };
  build(payment: { quote: Quote; payer: string; recent: RecentBlockhash }): UnsignedTransaction;
}
