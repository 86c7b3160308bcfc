import type { Caller } from "../domain/caller.ts";
import type { SignInInput } from "../domain/sign-in.ts";

/** What wallets are asked to sign, shared by all instances: where a challenge is made is not where it has to be answered. */
export interface SignInChallenges {
  add(input: SignInInput): Promise<void>;
  /** @returns undefined for one that is unknown, used or forgotten; whether it is over is for the caller to see */
  find(nonce: string): Promise<SignInInput | undefined>;
  /** Finds it and forgets it, at once: of those who come with the same nonce, one gets it. */
  take(nonce: string): Promise<SignInInput | undefined>;
}

/** A person who has signed in. */
export interface Session {
  /** `ses_…` */
  sessionId: string;
  accountId: string;
  /** The account's wallet. */
  wallet: string;
  operator: boolean;
  createdAt: Date;
  /** To the minute. */
  lastUsedAt: Date;
  /** When it ends at the latest; without use it ends earlier. */
  expiresAt: Date;
  /** The client's address when it began. */
  address: string;
  /** What it began with. */
  userAgent: string;
}

/** A session's caller: its `keyId` is the session. It has every scope. */
export interface SignedIn {
  session: Session;
  caller: Caller;
}

/** Sessions of the console. A token is known by its hash alone; one that ended is forgotten. */
export interface Sessions {
  /** Begins a session with a token of its own; an account that has as many as it may loses its oldest. */
  begin(start: {
    accountId: string;
    address: string;
    userAgent: string;
  }): Promise<{ session: Session; token: string }>;
  /** Whose token it is, at this moment, on whichever instance the session began or was ended. Being looked for is being used. */
  find(token: string): Promise<SignedIn | undefined>;
  /** Those of an account that are good, newest first. */
  list(accountId: string): Promise<Session[]>;
  /** @returns whether it was one of the account's */
  end(accountId: string, sessionId: string): Promise<boolean>;
  /** @returns how many there were */
  endAll(accountId: string): Promise<number>;
}

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
