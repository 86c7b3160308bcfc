import type { PaymentRequiredError } from "../app/calls/call-errors.ts";
import type { PaymentChallenge } from "../domain/payments/payment-auth.ts";
import type { Header } from "./headers.ts";
import { challengeHeader, type PaymentChallenges } from "./payment-auth/challenges.ts";
import type { RequestContext } from "./request-context.ts";
import type { WalletOffer, X402Offer, X402Offers } from "./x402/offers.ts";

/** A quote in the form of each payment scheme, beside the specification's 402 response. */
export interface Offers {
  /** Undefined when no x402 method can pay the quote. */
  readonly x402: X402Offer | undefined;
  /** Of the authentication scheme `Payment`. */
  readonly challenges: readonly PaymentChallenge[];
}

/** Offers one quote in all payment schemes: whichever is paid buys the call. */
export class QuoteOffers {
  readonly #x402: X402Offers;
  readonly #challenges: PaymentChallenges;

  constructor(x402: X402Offers, challenges: PaymentChallenges) {
    this.#x402 = x402;
    this.#challenges = challenges;
  }

  /** @param wallet undefined: called with a key */
  async offer(
    error: PaymentRequiredError,
    { body, acceptPayment, ...context }: Pick<RequestContext, "path" | "body" | "acceptPayment">,
    wallet?: { readonly path: string } & WalletOffer,
  ): Promise<Offers> {
    const x402 = await this.#x402.offer(error, wallet?.path ?? context.path, wallet);
    return { x402, challenges: await this.#challenges.of(error.quote, { body, acceptPayment }) };
  }
}

/** Returns PAYMENT-REQUIRED and WWW-Authenticate. */
export function offerHeaders({ x402, challenges }: Offers): Header[] {
  return [...(x402 ? [x402.header] : []), ...challenges.map(challengeHeader)];
}
