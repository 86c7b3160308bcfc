import type { SignInInput } from "../../domain/accounts/sign-in.ts";

/** What wallets are asked to sign, shared by all instances: where a challenge is made is not where it has to be answered. */
export interface SignInChallenges {
  add(input: SignInInput): Promise<void>;
  /** @returns undefined for one that is unknown, used or forgotten; whether it is over is for the caller to see */
  find(nonce: string): Promise<SignInInput | undefined>;
  /** Finds it and forgets it, at once: of those who come with the same nonce, one gets it. */
  take(nonce: string): Promise<SignInInput | undefined>;
}
