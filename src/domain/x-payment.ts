import { malformedProof } from "./errors.ts";
import { isJsonObject } from "./json.ts";

/** What the X-Payment header says (specification 2.4, header form). */
export interface XPayment {
  txRef: string;
  quoteId: string;
}

/** Longest header value that is read. */
const MAX_LENGTH = 8192;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const BASE64URL = /^[A-Za-z0-9_-]*={0,2}$/;
const MEMBERS = new Set(["tx", "tx_signature", "quote_id"]);
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** How the value is made, for `x402_header_format` (specification 2.3). */
export const X_PAYMENT_FORMAT = 'base64url(JSON {"tx": "<transaction signature>", "quote_id": "<quote_id>"})';

/**
 * Reads the X-Payment header: base64 or base64url (RFC 4648 sections 4 and 5), padding optional, of a JSON object with
 * `quote_id` and `tx` or `tx_signature`.
 * @throws ToolgateError INVALID_PAYMENT 400 naming what is wrong
 */
export function parseXPayment(header: string): XPayment {
  const members = decode(header);
  if ("x402Version" in members) {
    throw malformedProof("X-Payment: an x402 payload is not accepted here; send {tx, quote_id} of a transfer you sent");
  }
  const unknown = Object.keys(members).find((name) => !MEMBERS.has(name));
  if (unknown !== undefined)
    throw malformedProof(`X-Payment: unknown member ${JSON.stringify(unknown.slice(0, 64))}; send {tx, quote_id}`);
  const tx = text(members, "tx");
  const signature = text(members, "tx_signature");
  const quoteId = text(members, "quote_id");
  if (tx !== undefined && signature !== undefined && tx !== signature) {
    throw malformedProof("X-Payment: tx and tx_signature differ; send one of them");
  }
  const txRef = tx ?? signature;
  if (txRef === undefined) throw malformedProof("X-Payment: tx is missing; send the signature of your transaction");
  if (quoteId === undefined) throw malformedProof("X-Payment: quote_id is missing; send the quote that you paid");
  return { txRef, quoteId };
}

function text(members: Record<string, unknown>, name: string): string | undefined {
  if (!Object.hasOwn(members, name)) return undefined;
  const value = members[name];
  if (typeof value !== "string" || value === "") throw malformedProof(`X-Payment: ${name} must be a non-empty string`);
  return value;
}

function decode(header: string): Record<string, unknown> {
  if (header.length > MAX_LENGTH) throw malformedProof(`X-Payment: longer than ${MAX_LENGTH} characters`);
  const alphabet = BASE64.test(header) ? "base64" : BASE64URL.test(header) ? "base64url" : undefined;
  if (!alphabet || header === "") throw malformedProof("X-Payment: not base64 or base64url");
  const bytes = Buffer.from(header, alphabet);
  if (bytes.toString(alphabet).replace(/=+$/, "") !== header.replace(/=+$/, "")) {
    throw malformedProof("X-Payment: not canonical base64 (stray bits or characters at the end)");
  }
  if (header.includes("=") && header.length % 4 !== 0) throw malformedProof("X-Payment: wrong base64 padding");
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes));
    if (isJsonObject(value)) return value;
  } catch {
    // Told below, together with JSON that is no object.
  }
  throw malformedProof("X-Payment: does not decode to a JSON object in UTF-8");
}
