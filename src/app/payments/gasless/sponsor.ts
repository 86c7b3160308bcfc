import type { Quote } from "../../../domain/payments/quote.ts";
import type { RecentBlockhash } from "./relay-chain.ts";

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
    quote: Quote,
  ): { signedTransaction: Uint8Array; feeLamports: bigint };
  build(payment: { quote: Quote; payer: string; recent: RecentBlockhash }): UnsignedTransaction;
}
