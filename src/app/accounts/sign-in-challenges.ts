import type { SignInInput } from "../../domain/accounts/sign-in.ts";

/** Sign-in challenges, shared by all instances. */
export interface SignInChallenges {
  add(input: SignInInput): Promise<void>;
  /** @returns undefined for an unknown, used or deleted challenge; the caller checks expiry */
  find(nonce: string): Promise<SignInInput | undefined>;
  /** Returns and deletes the challenge atomically: only one caller per nonce receives it. */
  take(nonce: string): Promise<SignInInput | undefined>;
}
