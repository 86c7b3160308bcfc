import type { Quote } from "../../../domain/payments/quote.ts";

/** Chain queries of the relay. Methods throw ToolgateError UNAVAILABLE when no endpoint answers. */
export interface RelayChain {
  latestBlockhash(signal: AbortSignal): Promise<RecentBlockhash>;
  /**
   * Whether the blockhash is valid, and the block height from the same endpoint afterwards: a valid
   * blockhash expires within 150 blocks of that height.
   */
  blockhashStatus(blockhash: string, signal: AbortSignal): Promise<{ valid: boolean; blockHeight: bigint }>;
  /**
   * Simulates the transaction with signature checks at `processed`. @returns the failure; undefined on
   * success
   */
  simulate(signedTransaction: Uint8Array, signal: AbortSignal): Promise<string | undefined>;
  /**
   * Sends to every endpoint; one that already has it counts as success. @throws ToolgateError UNAVAILABLE
   * when all fail
   */
  send(signedTransaction: Uint8Array, signal: AbortSignal): Promise<void>;
  /**
   * Outcome over all endpoints: `absent` only when every endpoint reports it; `expired` when the block
   * height has passed `lastValidBlockHeight` by a margin, so that an absent transaction can no longer land.
   */
  outcome(query: {
    txSignature: string;
    lastValidBlockHeight: bigint;
    signal: AbortSignal;
  }): Promise<
    { kind: "confirmed" } | { kind: "failed"; reason: string } | { kind: "absent"; expired: boolean }
  >;
  /** Balance of the fee payer, lamports. */
  balance(address: string, signal: AbortSignal): Promise<bigint>;
}

/** What a relayed payment must pay. */
export interface RelayTerms extends Pick<Quote, "quoteId" | "price" | "expiresAt"> {
  /** Default: `<prefix>:<quote_id>`. */
  readonly memo?: string;
}

export interface RelayRequest {
  readonly transaction: RelayedTransaction;
  /** The opened quote named by the memo. Its account and call are already checked. */
  readonly quote: RelayTerms;
  /** Default: of the treasury. */
  readonly sponsor?: Sponsor;
  readonly accountId: string;
  readonly keyId: string;
  /** Arrival of the call, ms. A quote that expired before it is refused. */
  readonly receivedAt: number;
  readonly signal: AbortSignal;
}

export interface Relay {
  /** Base58. */
  readonly feePayer: string;
  /**
   * Decodes and identifies a transaction. A relayed one stays known after the fee payer changes.
   * @throws ToolgateError INVALID_PAYMENT: 400 if it is no transaction, 402 naming the rule it breaks
   */
  identify(bytes: Uint8Array): Promise<RelayedTransaction>;
  /**
   * Submits a payment: checks it against the quote, claims message and quote, signs, simulates, sends, and
   * waits for confirmation. Idempotent for one transaction on all instances.
   * @returns the time of the claim, ms: that is when the payer paid
   * @throws ToolgateError INVALID_PAYMENT (not sent, or failed on the chain), QUOTE_EXPIRED, RATE_LIMITED
   * (quota), PAYMENT_PENDING (outcome unknown: repeat the call), UNAVAILABLE (budget spent, or no endpoint
   * reachable)
   */
  relay(order: RelayRequest): Promise<{ claimedAt: number }>;
  /** Returns a blockhash for a 402 response; undefined when the network does not answer. Never throws. */
  recentBlockhash(): Promise<RecentBlockhash | undefined>;
  /**
   * Builds the transaction that pays the quote, with the memo `<prefix>:<quote_id>`.
   * @throws ToolgateError INVALID_REQUEST (payer), INVALID_PAYMENT (price too low to relay), QUOTE_EXPIRED,
   * UNAVAILABLE
   */
  build(payment: { quote: Quote; payer: string; signal: AbortSignal }): Promise<UnsignedTransaction>;
}

/** A relay that also sends payments to other recipients (x402, facilitators). */
export interface FacilitatingRelay extends Relay {
  /** The sponsor of payments to a wallet. @throws TypeError when it cannot be paid */
  sponsorTo(recipient: string): Sponsor;
  /** {@link Relay.identify} */
  identify(bytes: Uint8Array, sponsor?: Sponsor): Promise<RelayedTransaction>;
  /**
   * Checks a payment as {@link Relay.relay} does and simulates it; stores and sends nothing.
   * @throws ToolgateError as {@link Relay.relay}, also when it was relayed before
   */
  check(order: RelayRequest): Promise<void>;
}

/** A blockhash on which callers can build a transaction. */
export interface RecentBlockhash {
  readonly blockhash: string;
  readonly lastValidBlockHeight: bigint;
}

/**
 * A decoded transaction in the one relayed form. All rules that need no quote are checked, so we never sign
 * anything else. {@link Sponsor.sign} checks the quote.
 */
export interface RelayedTransaction {
  /** Wire bytes as sent by the caller, without our signature. */
  readonly bytes: Uint8Array;
  /**
   * SHA-256 of the message, 32 bytes: identifies the transaction. The wire bytes do not, since the sender
   * can change their first signature.
   */
  readonly messageHash: Buffer;
  /**
   * Its signature on the chain after signing: Ed25519 is deterministic. Anyone who has it can send the
   * transaction at our cost, so it is not returned or logged before the relay has sent it.
   */
  readonly txSignature: string;
  /** Its one memo, `<prefix>:<quote_id>`. The quote is not checked yet. */
  readonly memo: string;
  /** Signs and pays the USDC, base58. */
  readonly payer: string;
  readonly blockhash: string;
}

export interface UnsignedTransaction {
  /** Wire bytes with zeroed signatures. */
  readonly transaction: Uint8Array;
  readonly message: Uint8Array;
  readonly feePayer: string;
  readonly lastValidBlockHeight: bigint;
}

/** A transaction that follows the rules but may name another fee payer. */
export type DecodedTransaction = Omit<RelayedTransaction, "txSignature"> & {
  readonly txSignature: string | undefined;
};

/** Signs transactions as the fee payer, after all checks. Implemented in src/payments/gasless. */
export interface Sponsor {
  readonly feePayer: string;
  /**
   * Lets an external signer sign a transaction that follows the rules; before {@link decode} and
   * {@link sign}.
   * @throws ToolgateError like {@link decode}; UNAVAILABLE when the signer does not sign
   */
  prepare(bytes: Uint8Array): Promise<void>;
  /**
   * Decodes a transaction strictly. No side effects.
   * @returns `txSignature` undefined when the fee payer is not ours
   * @throws ToolgateError INVALID_PAYMENT: 400 if it is no transaction, 402 for the first broken rule
   */
  decode(bytes: Uint8Array): DecodedTransaction;
  /**
   * Repeats every check, adds the checks of the quote, then signs.
   * @throws ToolgateError INVALID_PAYMENT for the first broken rule
   */
  sign(
    transaction: Pick<RelayedTransaction, "bytes">,
    quote: RelayTerms,
  ): { signedTransaction: Uint8Array; feeLamports: bigint };
  build(payment: { quote: Quote; payer: string; recent: RecentBlockhash }): UnsignedTransaction;
  /** The same key for payments to another wallet, with any memo. @throws TypeError when it cannot be paid */
  to(recipient: string): Sponsor;
}
