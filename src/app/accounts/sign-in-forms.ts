import type { SignInInput } from "../../domain/accounts/sign-in.ts";

/** Sign-in messages in the form of transactions, for wallets that sign nothing else. */
export interface SignInForms {
  /** Returns the text that wallets show and sign (Sign In With Solana). */
  textOf(input: SignInInput, address: string): Promise<string>;
  /** Returns an unsigned transaction that carries the text and does nothing else. */
  transactionOf(text: string, address: string): Promise<Uint8Array>;
  /**
   * Reads a signed transaction built by {@link transactionOf}.
   * @returns the problem if it is none
   */
  readTransaction(transaction: Uint8Array, address: string): Promise<SignedText | string>;
}

/** A text signed as a transaction. */
export interface SignedText {
  text: string;
  /** The signed bytes. */
  message: Uint8Array;
  /** Signature of the address. */
  signature: Uint8Array;
}
