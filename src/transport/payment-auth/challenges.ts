import type { PaymentMethods } from "../../app/payments/payment-methods.ts";
import { parsedJson } from "../../domain/core/json.ts";
import {
  boundParameters,
  contentDigest,
  encodeJson,
  type PaymentChallenge,
} from "../../domain/payments/payment-auth.ts";
import type { Quote, Quotes } from "../../domain/payments/quote.ts";
import type { Header } from "../headers.ts";
import { accepted } from "./accept-payment.ts";

export interface PaymentChallengesConfig {
  readonly payments: Pick<PaymentMethods, "requests">;
  readonly quotes: Pick<Quotes, "challengeId">;
  /** Public address of the gateway; available after the servers listen. */
  readonly baseUrl: () => string;
}

/** What a challenge depends on besides its quote. */
export interface ChallengedRequest {
  /** Undefined: nothing is bound but the quoted call. */
  readonly body?: Uint8Array | undefined;
  /** Accept-Payment, as sent. */
  readonly acceptPayment?: string | undefined;
}

/** Builds the challenges of quotes for the authentication scheme `Payment` (draft-httpauth-payment). */
export class PaymentChallenges {
  readonly #config: PaymentChallengesConfig;
  #realm: string | undefined;

  constructor(config: PaymentChallengesConfig) {
    this.#config = config;
  }

  /** Returns a challenge for each request of the quote, as Accept-Payment filters and orders them. */
  async of(quote: Quote, { body, acceptPayment }: ChallengedRequest): Promise<PaymentChallenge[]> {
    const { payments, quotes, baseUrl } = this.#config;
    this.#realm ??= new URL(baseUrl()).hostname;
    const common = {
      realm: this.#realm,
      expires: new Date(quote.expiresAt).toISOString(),
      digest: body && contentDigest(body),
      opaque: encodeJson({ quote_id: quote.quoteId }),
    };
    const requests = accepted(await payments.requests(quote), acceptPayment);
    return requests.map(({ method, intent, request }) => {
      const challenge = { ...common, method, intent, request: encodeJson(request) };
      return { id: quotes.challengeId(quote, boundParameters(challenge)), ...challenge };
    });
  }
}

/** The order of a challenge's parameters. */
const PARAMETERS = ["id", "realm", "method", "intent", "request", "expires", "digest", "opaque"] as const;

/** Returns WWW-Authenticate. No value needs escapes: each is of a host, a time, base64url or names. */
export function challengeHeader(challenge: PaymentChallenge): Header {
  const set = PARAMETERS.filter((name) => challenge[name] !== undefined);
  return ["www-authenticate", `Payment ${set.map((name) => `${name}="${challenge[name]}"`).join(", ")}`];
}

/** Returns the challenge as JSON-RPC has it: with the request as an object (draft-payment-transport-mcp). */
export function challengeJson({ request, ...challenge }: PaymentChallenge): object {
  return { ...challenge, request: parsedJson(Buffer.from(request, "base64url").toString()) };
}
