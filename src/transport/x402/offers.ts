import type { PaymentRequiredError } from "../../app/calls/call-errors.ts";
import type { X402Entry, PaymentMethods } from "../../app/payments/payment-methods.ts";
import { withChain } from "../../domain/payments/payment-id.ts";
import { MAX_ENCODED_LENGTH } from "../../domain/payments/encoded-object.ts";
import type { Header } from "../headers.ts";
import { encodeHeader, encodedLength } from "./encode.ts";
import type { OfferReceipts } from "./offer-receipt.ts";
import type { SoldTool } from "./sold-tools.ts";

export interface X402OffersConfig {
  readonly payments: Pick<PaymentMethods, "x402">;
  /** Public address of the gateway without a trailing slash; available after the servers listen. */
  readonly baseUrl: () => string;
  /** Signs offers without an API key. */
  readonly signed: Pick<OfferReceipts, "offered">;
  /** Whether bodies also contain the version 1 members. */
  readonly v1: boolean;
  /** RPC server of the chain to pay on, unless it is the public one. */
  readonly rpcUrl?: string | undefined;
}

/** An x402 offer, sent beside the specification's 402 response. */
export interface X402Offer {
  /** Version 2: content of PAYMENT-REQUIRED and of an MCP result in band. */
  readonly paymentRequired: object;
  /** PAYMENT-REQUIRED. */
  readonly header: Header;
  /** Version 1 members of the HTTP body; undefined when version 1 is off. */
  readonly v1Members: object | undefined;
}

/** What an offer without an API key says besides. */
export interface WalletOffer {
  /** Shows that a payment's sender received the offer. */
  readonly offerToken: string;
  /** Undefined: the catalogue no longer sells the tool. */
  readonly sold: Pick<SoldTool, "description" | "tags" | "bazaars"> | undefined;
  /** Further extensions, by name. */
  readonly extensions: object;
}

/** A blockhash expires after 60 to 90 seconds, whatever the quote's lifetime. */
export const MAX_TIMEOUT_SECONDS = 60;
export const MIME_TYPE = "application/json";
/** Name of this service in offers. */
export const SERVICE_NAME = "toolgate";
/** Resource path for gRPC and Connect requests. */
const CONNECT_PATH = "/toolgate.v1.ToolService/CallTool";

/** Largest PAYMENT-REQUIRED that is chosen: a challenge and the other headers fit beside it into 8 KiB. */
const MAX_HEADER_LENGTH = 6_400;

/** What a client adds to the offer that it returns, bytes: a transaction in base64, and an identifier. */
const RETURNED_WITH = 1_644 + 250;

/** Extensions in offers: `payment-identifier` (x402 extension) becomes the idempotency key. */
const EXTENSIONS = {
  "payment-identifier": {
    info: { required: false },
    schema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        required: { type: "boolean" },
        id: { type: "string", minLength: 16, maxLength: 128, pattern: "^[a-zA-Z0-9_-]+$" },
      },
      required: ["required"],
    },
  },
} as const;

/** Builds the x402 form of quotes: same price, quote and treasury as the body. */
export class X402Offers {
  readonly #config: X402OffersConfig;

  constructor(config: X402OffersConfig) {
    this.#config = config;
  }

  /** Returns undefined when no x402 method can pay the quote. @param wallet undefined: called with a key */
  async offer(
    error: PaymentRequiredError,
    path: string | undefined,
    wallet?: WalletOffer,
  ): Promise<X402Offer | undefined> {
    const { payments, baseUrl, signed, v1, rpcUrl } = this.#config;
    const { tool, quote } = error;
    const message = withChain(error.message, rpcUrl);
    const entries = await payments.x402(quote);
    if (entries.length === 0) return undefined;
    const requested = path ?? CONNECT_PATH;
    const url = baseUrl() + requested;
    const { offerToken, sold } = wallet ?? {};
    const terms = entries.map((entry) => entry.terms);
    const description = sold?.description ?? `one call of ${tool}`;
    const signatures = wallet && signed.offered(requested, quote, terms);
    const offerWith = (bazaar: object | undefined) => ({
      x402Version: 2,
      error: message,
      resource: {
        url,
        description,
        mimeType: MIME_TYPE,
        serviceName: SERVICE_NAME,
        ...(sold && { tags: sold.tags }),
      },
      accepts: entries.map((entry) => acceptsV2(entry, offerToken)),
      extensions: {
        ...EXTENSIONS,
        ...(bazaar && { bazaar }),
        ...wallet?.extensions,
        ...signatures,
      },
    });
    const paymentRequired = firstReturnable(offerWith, sold?.bazaars ?? []);
    const resource = { resource: url, description, mimeType: MIME_TYPE };
    return {
      paymentRequired,
      header: ["payment-required", encodeHeader(paymentRequired)],
      v1Members: v1
        ? { x402Version: 1, error: message, accepts: entries.map((entry) => acceptsV1(entry, resource)) }
        : undefined,
    };
  }
}

/** Returns the offer with the first extension that fits, also on its return, or without one. */
function firstReturnable<Offer extends { readonly error: string }>(
  offerWith: (bazaar: object | undefined) => Offer,
  bazaars: readonly object[],
): Offer {
  for (const bazaar of bazaars) {
    const offer = offerWith(bazaar);
    // Clients return neither the message nor other entries of `accepts`.
    const { error: _, ...returned } = offer;
    const fits = encodedLength(offer, 0) <= MAX_HEADER_LENGTH;
    if (fits && encodedLength(returned, RETURNED_WITH) <= MAX_ENCODED_LENGTH) return offer;
  }
  return offerWith(undefined);
}

function acceptsV2(
  { terms: { feePayer, memo, ...terms }, hints }: X402Entry,
  offerToken: string | undefined,
): object {
  return {
    ...terms,
    maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
    extra: { feePayer, memo, ...hints, ...(offerToken && { offerToken }), paymentFlow: "upfront" },
  };
}

function acceptsV1({ terms, v1Network: network }: X402Entry, resource: object): object {
  const { scheme, amount: maxAmountRequired, payTo, asset, feePayer, memo } = terms;
  return {
    scheme,
    network,
    maxAmountRequired,
    ...resource,
    payTo,
    maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
    asset,
    extra: { feePayer, memo },
  };
}

/** Merges the version 1 members into an HTTP body when version 1 is on. */
export function bodyWithV1(json: unknown, offer: X402Offer | undefined): unknown {
  return typeof json === "object" && offer?.v1Members ? { ...json, ...offer.v1Members } : json;
}
