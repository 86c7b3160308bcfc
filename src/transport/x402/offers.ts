import type { PaymentRequiredError } from "../../app/calls/payment-required-error.ts";
import type { RecentBlockhash } from "../../app/payments/gasless/relay-chain.ts";
import type { Relay } from "../../app/payments/gasless/relay-port.ts";
import { X402_V1_NETWORK, x402Terms, type X402Treasury } from "../../domain/payments/x402.ts";
import type { Header } from "../header.ts";
import { encodeHeader } from "./encode.ts";
import { EXTENSIONS } from "./extensions.ts";

export interface X402OffersConfig {
  readonly relay: Relay;
  readonly treasury: X402Treasury;
  readonly memoPrefix: string;
  /** Public address of the gateway without a trailing slash; available after the servers listen. */
  readonly baseUrl: () => string;
  /** Whether bodies also contain the version 1 members. */
  readonly v1: boolean;
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

/** A blockhash expires after 60 to 90 seconds, whatever the quote's lifetime. */
const MAX_TIMEOUT_SECONDS = 60;
const MIME_TYPE = "application/json";
/** Resource path for gRPC and Connect requests. */
const CONNECT_PATH = "/toolgate.v1.ToolService/CallTool";

/** Builds the x402 form of quotes: same price, quote and treasury as the body. */
export class X402Offers {
  readonly #config: X402OffersConfig;

  constructor(config: X402OffersConfig) {
    this.#config = config;
  }

  /** @param path of the request; undefined over gRPC and Connect */
  async offer({ tool, quote, message }: PaymentRequiredError, path: string | undefined): Promise<X402Offer> {
    const { relay, treasury, memoPrefix, baseUrl, v1 } = this.#config;
    const { feePayer, memo, ...terms } = x402Terms(treasury, relay.feePayer, memoPrefix, quote);
    const url = `${baseUrl()}${path ?? CONNECT_PATH}`;
    const description = `one call of ${tool}`;
    const paymentRequired = {
      x402Version: 2,
      error: message,
      resource: { url, description, mimeType: MIME_TYPE, serviceName: "toolgate" },
      accepts: [
        {
          ...terms,
          maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
          extra: { feePayer, memo, ...hintOf(await relay.recentBlockhash()), paymentFlow: "upfront" },
        },
      ],
      extensions: EXTENSIONS,
    };
    const v1Accepts = {
      scheme: terms.scheme,
      network: X402_V1_NETWORK,
      maxAmountRequired: terms.amount,
      resource: url,
      description,
      mimeType: MIME_TYPE,
      payTo: terms.payTo,
      maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
      asset: terms.asset,
      extra: { feePayer, memo },
    };
    return {
      paymentRequired,
      header: ["payment-required", encodeHeader(paymentRequired)],
      v1Members: v1 ? { x402Version: 1, error: message, accepts: [v1Accepts] } : undefined,
    };
  }
}

/** Saves the client a request to the chain. */
function hintOf(recent: RecentBlockhash | undefined) {
  if (!recent) return undefined;
  return { recentBlockhash: recent.blockhash, lastValidBlockHeight: String(recent.lastValidBlockHeight) };
}

/** Merges the version 1 members into an HTTP body when version 1 is on. */
export function bodyWithV1(json: unknown, offer: X402Offer | undefined): unknown {
  return typeof json === "object" && offer?.v1Members ? { ...json, ...offer.v1Members } : json;
}
