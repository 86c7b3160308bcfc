import type { Quote } from "../../domain/payments/quote.ts";
import type { RecentBlockhash } from "./relay-chain.ts";

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

/** A transaction that a wallet can sign. */
export interface UnsignedTransaction {
  /** Wire bytes, both signatures zero. */
  readonly transaction: Uint8Array;
  readonly message: Uint8Array;
  readonly feePayer: string;
  readonly lastValidBlockHeight: bigint;
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
