import { boundParameters, contentDigest, type PaymentChallenge } from "../../domain/payments/payment-auth.ts";
import type { Quote, Quotes } from "../../domain/payments/quote.ts";
import { paymentRefused } from "./payment-methods.ts";

/**
 * Checks that a challenge was given out with its quote, unchanged, and for this body.
 * @param quote undefined: it could not be opened
 * @throws ToolgateError INVALID_PAYMENT: nothing was consumed
 */
export function requireIssued(
  quotes: Pick<Quotes, "isChallengeId">,
  challenge: PaymentChallenge,
  quote: Quote | undefined,
  body: Uint8Array | undefined,
): void {
  if (!quote || !quotes.isChallengeId(quote, boundParameters(challenge), challenge.id))
    throw paymentRefused(
      "the challenge was not issued by this gateway, or was changed; send the challenge of the 402 answer, " +
        "unchanged",
    );
  if (challenge.digest !== undefined && (!body || contentDigest(body) !== challenge.digest))
    throw paymentRefused(
      "the challenge was issued for another body; repeat the request with the quoted body, unchanged",
    );
}
