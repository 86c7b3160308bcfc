import type { JsonObject } from "../../domain/core/json.ts";
import { formatUsdc, type MicroUsd } from "../../domain/core/money.ts";
import { X402_NETWORK, X402_SCHEME } from "../../domain/payments/x402.ts";
import { bazaarExtension } from "../x402/bazaar.ts";
import { MAX_TIMEOUT_SECONDS, MIME_TYPE, SERVICE_NAME } from "../x402/offers.ts";
import type { SoldTool, SoldTools } from "../x402/sold-tools.ts";
import type { ServedDocument } from "./document-handler.ts";

/** How wallets pay here. Addresses are base58. */
export interface WalletPayment {
  /** The USDC mint. */
  readonly asset: string;
  /** Owner of the treasury's token account. */
  readonly payTo: string;
  /** Payer of the network fee. */
  readonly feePayer: string;
  /** Cheaper calls are not sold without an API key. */
  readonly minimum: MicroUsd;
}

export interface X402ManifestOptions {
  readonly sold: SoldTools;
  /** Undefined: nothing is sold without an API key. */
  readonly payment: WalletPayment | undefined;
  /** Available after the servers listen. */
  readonly baseUrl: () => string;
  readonly now: () => number;
}

/** Returns /.well-known/x402: sold resources as `items` (bazaar) and `resources` (x402scan). */
export function x402Manifest(options: X402ManifestOptions): ServedDocument {
  let kept: { readonly byName: ReadonlyMap<string, SoldTool>; readonly text: string } | undefined;
  return {
    path: "/.well-known/x402",
    mediaType: "application/json",
    maxAgeSeconds: 60,
    text() {
      const byName = options.sold.byName();
      if (kept?.byName === byName) return kept.text;
      const { text, complete } = manifest(options, byName);
      if (complete) kept = { byName, text };
      return text;
    },
  };
}

/** `complete`: no tool is only unavailable for the moment. */
function manifest(
  { sold, payment, baseUrl, now }: X402ManifestOptions,
  byName: ReadonlyMap<string, SoldTool>,
): { text: string; complete: boolean } {
  const lastUpdated = new Date(now()).toISOString();
  const { minimum } = payment ?? { minimum: 0n };
  const tools = [...byName.values()].filter(({ tool }) => (tool.fixedPrice ?? minimum) >= minimum);
  const priced = payment ? tools.map((one) => ({ one, payment, price: sold.examplePrice(one) })) : [];
  const items = priced.map(({ one, price, payment: to }) => ({
    ...resource(baseUrl(), one),
    accepts: typeof price === "bigint" && price >= minimum ? [terms(price, to)] : [],
    lastUpdated,
  }));
  const resources = items.map(({ resource: url }) => url);
  return {
    text: JSON.stringify({ version: 1, x402Version: 2, lastUpdated, resources, items }),
    complete: priced.every(({ price }) => price !== "unavailable"),
  };
}

function resource(baseUrl: string, { tool, path, tags, example }: SoldTool) {
  return {
    resource: `${baseUrl}${path}`,
    type: "http",
    x402Version: 2,
    description: tool.description,
    mimeType: MIME_TYPE,
    serviceName: SERVICE_NAME,
    tags,
    price: priceOf(tool),
    extensions: { bazaar: bazaarExtension(tool, example) },
  };
}

/** Returns the terms of the example's price. A call that is priced by its parameters has its own. */
function terms(price: MicroUsd, { asset, payTo, feePayer }: WalletPayment): object {
  return {
    scheme: X402_SCHEME,
    network: X402_NETWORK,
    amount: String(price),
    asset,
    payTo,
    maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
    extra: { feePayer, paymentFlow: "upfront" },
  };
}

export function priceOf({
  fixedPrice,
  maxPrice,
  metered,
}: Pick<SoldTool["tool"], "fixedPrice" | "maxPrice" | "metered">): JsonObject {
  if (fixedPrice !== undefined && !metered)
    return { mode: "fixed", currency: "USD", amount: formatUsdc(fixedPrice) };
  const most = fixedPrice ?? maxPrice;
  const max = most === undefined ? {} : { max: formatUsdc(most) };
  return { mode: "dynamic", currency: "USD", min: formatUsdc(1n), ...max };
}
