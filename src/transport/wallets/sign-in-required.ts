import type { WalletSignIn } from "../../app/accounts/wallet-sign-in.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { Header } from "../headers.ts";
import { encodeHeader } from "../x402/encode.ts";
import { signInExtension } from "./sign-in-extension.ts";

/** UNAUTHORIZED with a challenge in PAYMENT-REQUIRED, whose empty `accepts` offers no payment (x402). */
export class SignInRequiredError extends ToolgateError {
  readonly header: Header;

  /** @param path of the request that the wallet signs */
  constructor(signIn: Pick<WalletSignIn, "challenge">, path: string) {
    super(
      "UNAUTHORIZED",
      "the header SIGN-IN-WITH-X is missing; sign the challenge in PAYMENT-REQUIRED with your wallet. " +
        "API keys are not accepted here",
    );
    const challenge = signIn.challenge(path);
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
