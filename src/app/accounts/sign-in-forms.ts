import type { SignInInput } from "../../domain/accounts/sign-in.ts";

/** A message as the chain knows it, for wallets that sign nothing else. */
export interface SignInForms {
  /** The text that wallets show and sign (Sign In With Solana). */
  textOf(input: SignInInput, address: string): Promise<string>;
  /** A transaction, unsigned, that says the text and does nothing. */
  transactionOf(text: string, address: string): Promise<Uint8Array>;
  /**
   * What a signed transaction says, if it can be one of {@link transactionOf}.
   * @returns the reason otherwise
   */
  readTransaction(transaction: Uint8Array, address: string): Promise<SignedText | string>;
}

/** A text that was signed as a transaction. */
export interface SignedText {
  text: string;
  /** What the signature is over. */
  message: Uint8Array;
  /** The address's. */
  signature: Uint8Array;
}
