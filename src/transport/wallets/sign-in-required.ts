import type { WalletSignIn } from "../../app/accounts/sign-in.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { Header } from "../headers.ts";
import { encodeHeader } from "../x402/encode.ts";
import type { SignInInput } from "../../domain/accounts/sign-in.ts";

/** UNAUTHORIZED with a challenge in PAYMENT-REQUIRED, whose empty `accepts` offers no payment (x402). */
export class SignInRequiredError extends ToolgateError {
  readonly header: Header;

  /** @param method, path of the request that the wallet signs */
  constructor(signIn: Pick<WalletSignIn, "challenge">, method: string, path: string) {
    super(
      "UNAUTHORIZED",
      "the header SIGN-IN-WITH-X is missing; sign the challenge in PAYMENT-REQUIRED with your wallet. " +
        "API keys are not accepted here",
    );
    const challenge = signIn.challenge(method, path);
    const offer = {
      x402Version: 2,
      error: this.message,
      resource: { url: challenge.uri },
      accepts: [],
      extensions: signInExtension(challenge),
    };
    this.header = ["payment-required", encodeHeader(offer)];
  }
}

/** Short, because clients send an offer back in PAYMENT-SIGNATURE, whose length is limited. */
const SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  required: [
    "domain",
    "address",
    "uri",
    "version",
    "chainId",
    "type",
    "nonce",
    "issuedAt",
    "requestId",
    "signature",
  ],
} as const;

/** Returns the x402 extension `sign-in-with-x` with a challenge. */
export function signInExtension({ chainId, ...info }: SignInInput): object {
  return { "sign-in-with-x": { info, supportedChains: [{ chainId, type: "ed25519" }], schema: SCHEMA } };
}

/** FORBIDDEN for a wallet without an account. */
export function noAccount(wallet: string): ToolgateError {
  return new ToolgateError(
    "FORBIDDEN",
    `wallet ${wallet} has no account; its first payment at /x402/{tool} creates one`,
  );
}
