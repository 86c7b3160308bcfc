import type { PaymentRequiredError } from "../../app/payment-required.ts";
import type { RecentBlockhash, Relay } from "../../app/relay-ports.ts";
import { X402_V1_NETWORK, x402Terms, type X402Treasury } from "../../domain/x402.ts";
import type { Header } from "../header.ts";
import { encodeHeader } from "./encode.ts";
import { EXTENSIONS } from "./extensions.ts";

/** What offers are made of. */
export interface X402OffersConfig {
  readonly relay: Relay;
  readonly treasury: X402Treasury;
  readonly memoPrefix: string;
  /** The gateway's address as callers see it, without a slash at the end; known once its doors are open. */
  readonly baseUrl: () => string;
  /** Whether bodies also speak version 1. */
  readonly v1: boolean;
}

/** An offer to x402 clients, beside the 402 answer of the specification. */
export interface X402Offer {
  /** Version 2: what PAYMENT-REQUIRED says, and an MCP result in band. */
  readonly paymentRequired: object;
  /** PAYMENT-REQUIRED */
  readonly header: Header;
  /** The members that version 1 looks for in an HTTP body; undefined: it is not spoken. */
  readonly v1Members: object | undefined;
}

/** A blockhash is good for 60 to 90 seconds, whatever the quote's time is: who signs later has to ask for a fresh one. */
const MAX_TIMEOUT_SECONDS = 60;
const MIME_TYPE = "application/json";
/** Where gRPC and Connect requests go, which have no path of ours. */
const CONNECT_PATH = "/toolgate.v1.ToolService/CallTool";

/** Makes the x402 form of quotes: the same price, quote and treasury as the body, in x402's words. */
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

/** An HTTP body with the members of version 1 laid over, where it is spoken. */
export function bodyWithV1(json: unknown, offer: X402Offer | undefined): unknown {
  return typeof json === "object" && offer?.v1Members ? { ...json, ...offer.v1Members } : json;
}
