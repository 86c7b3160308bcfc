import { malformedProof } from "../core/errors.ts";
import { isJsonObject } from "../core/json.ts";
import { decodeBase64, decodeObject } from "./encoded-object.ts";
import { X402_NETWORK, X402_SCHEME, X402_V1_NETWORK, type X402Terms } from "./x402.ts";

// Readers for members of a JSON proof. Own members only: inherited ones were not sent. Paths start with the
// carrier's name, so that errors say where to look.

/** Maximum transaction size, bytes (Solana, `PACKET_DATA_SIZE`). */
const MAX_TRANSACTION_BYTES = 1232;

export type Members = Readonly<Record<string, unknown>>;

/** Null, as some clients write it, is absent. */
function member(members: Members, name: string): unknown {
  return Object.hasOwn(members, name) ? (members[name] ?? undefined) : undefined;
}

/** @throws ToolgateError INVALID_PAYMENT 400 unless it is absent or a non-empty string */
export function textMember(members: Members, name: string, path: string): string | undefined {
  const value = member(members, name);
  if (value === undefined) return undefined;
  if (typeof value !== "string" || value === "")
    throw malformedProof(`${path}${name} must be a non-empty string`);
  return value;
}

/** @throws ToolgateError INVALID_PAYMENT 400 unless it is absent or an object */
function objectMember(members: Members, name: string, path: string): Members | undefined {
  const value = member(members, name);
  if (value === undefined) return undefined;
  if (!isJsonObject(value)) throw malformedProof(`${path}${name} must be an object`);
  return value;
}

/** Returns the wire bytes of a base64 transaction. @throws ToolgateError INVALID_PAYMENT 400 */
export function transactionMember(members: Members, name: string, path: string): Uint8Array {
  const text = textMember(members, name, path);
  if (text === undefined)
    throw malformedProof(`${path}${name} is missing; send the transaction that you signed, in base64`);
  const bytes = decodeBase64(text, ["base64"]);
  if (typeof bytes === "string") throw malformedProof(`${path}${name}: ${bytes}`);
  if (bytes.length > MAX_TRANSACTION_BYTES)
    throw malformedProof(
      `${path}${name}: has ${bytes.length} bytes, and a transaction at most ${MAX_TRANSACTION_BYTES}`,
    );
  return bytes;
}

/** The payment of an x402 client. */
export interface X402Payload {
  readonly x402Version: 1 | 2;
  /** Wire bytes without the fee payer's signature. */
  readonly transaction: Uint8Array;
  /** The accepted offer; undefined in version 1, which does not repeat it. */
  readonly accepted: Partial<X402Terms> | undefined;
  /** Token of the accepted offer, `extra.offerToken`. */
  readonly offerToken: string | undefined;
  /** Idempotency key in the extension `payment-identifier`. */
  readonly paymentId: string | undefined;
}

/** Required members of `accepted`. */
const DEMANDED = ["scheme", "network", "amount", "asset", "payTo"] as const;
/** 16 to 128 characters (x402 extension payment-identifier). */
const PAYMENT_ID = /^[a-zA-Z0-9_-]{16,128}$/;

/**
 * Parses a PaymentPayload of version 2. Ignores unknown extensions.
 * @param carrier where it was sent, for errors
 * @throws ToolgateError INVALID_PAYMENT 400
 */
export function parseX402Payload(members: Members, carrier: string): X402Payload {
  const version = member(members, "x402Version");
  if (version !== 2) {
    const advice = version === 1 ? "; send a payload of version 1 in X-Payment" : "";
    throw malformedProof(`${carrier}: x402Version must be 2${advice}`);
  }
  const payload = demanded(members, "payload", `${carrier}: `);
  const accepted = demanded(members, "accepted", `${carrier}: `);
  return {
    x402Version: 2,
    transaction: transactionMember(payload, "transaction", `${carrier}: payload.`),
    accepted: parseAccepted(accepted, `${carrier}: accepted.`),
    offerToken: offerTokenOf(accepted, `${carrier}: accepted.`),
    paymentId: parsePaymentId(objectMember(members, "extensions", `${carrier}: `), carrier),
  };
}

/** Parses a PaymentPayload of version 1, where only the transaction's memo names the offer. */
function parseX402PayloadV1(members: Members, carrier: string): X402Payload {
  if (member(members, "scheme") !== X402_SCHEME)
    throw malformedProof(`${carrier}: scheme must be ${X402_SCHEME}`);
  const network = member(members, "network");
  if (network !== X402_V1_NETWORK && network !== X402_NETWORK)
    throw malformedProof(`${carrier}: network must be ${X402_V1_NETWORK} or ${X402_NETWORK}`);
  const payload = demanded(members, "payload", `${carrier}: `);
  return {
    x402Version: 1,
    transaction: transactionMember(payload, "transaction", `${carrier}: payload.`),
    accepted: undefined,
    offerToken: undefined,
    paymentId: undefined,
  };
}

/** Parses terms that a payload or a resource server repeats. @throws ToolgateError INVALID_PAYMENT 400 */
export function parseAccepted(accepted: Members, path: string): Partial<X402Terms> {
  const terms: { -readonly [Name in keyof X402Terms]?: string } = {};
  for (const name of DEMANDED) {
    const value = textMember(accepted, name, path);
    if (value === undefined)
      throw malformedProof(
        `${path}${name} is missing; send the entry of \`accepts\` that you take, unchanged`,
      );
    terms[name] = value;
  }
  const extra = objectMember(accepted, "extra", path) ?? {};
  for (const name of ["feePayer", "memo"] as const) {
    const value = textMember(extra, name, `${path}extra.`);
    if (value !== undefined) terms[name] = value;
  }
  return terms;
}

function offerTokenOf(accepted: Members, path: string): string | undefined {
  return textMember(objectMember(accepted, "extra", path) ?? {}, "offerToken", `${path}extra.`);
}

function parsePaymentId(extensions: Members | undefined, carrier: string): string | undefined {
  const path = `${carrier}: extensions["payment-identifier"]`;
  const extension = extensions && objectMember(extensions, "payment-identifier", `${carrier}: extensions.`);
  const info = extension && objectMember(extension, "info", `${path}.`);
  const id = info && member(info, "id");
  if (id === undefined) return undefined;
  if (typeof id === "string" && PAYMENT_ID.test(id)) return id;
  throw malformedProof(`${path}.info.id must be 16 to 128 characters of a-z, A-Z, 0-9, - and _`);
}

/** @throws ToolgateError INVALID_PAYMENT 400 unless it is an object */
export function demanded(members: Members, name: string, path: string): Members {
  return objectMember(members, name, path) ?? missing(name, path);
}

/** @throws ToolgateError INVALID_PAYMENT 400 unless it is a non-empty string */
export function demandedText(members: Members, name: string, path: string): string {
  return textMember(members, name, path) ?? missing(name, path);
}

function missing(name: string, path: string): never {
  throw malformedProof(`${path}${name} is missing`);
}

/** Content of the X-Payment header (specification 2.4): a sent transfer, or a transaction to send. */
type XPayment =
  | { form: "transfer"; txRef: string; quoteId: string }
  | { form: "transaction"; transaction: Uint8Array; quoteId: string }
  | { form: "x402"; payload: X402Payload };

export const X_PAYMENT = "X-Payment";
const OWN_MEMBERS: readonly string[] = ["tx", "tx_signature", "transaction", "quote_id"];

const TRANSFER_FORMAT = 'base64url(JSON {"tx": "<transaction signature>", "quote_id": "<quote_id>"})';
const GASLESS_FORMAT =
  'base64url(JSON {"transaction": "<base64 of the signed transaction>", "quote_id": "<quote_id>"})';

/** Formats for `x402_header_format` (specification 2.3), by method. */
export const X_PAYMENT_FORMATS = { transfer: TRANSFER_FORMAT, gasless: `gasless ${GASLESS_FORMAT}` } as const;

/**
 * Decodes the X-Payment header: base64 or base64url (RFC 4648 sections 4 and 5), padding optional, of a JSON
 * object.
 * @throws ToolgateError INVALID_PAYMENT 400 naming the problem
 */
export function parseXPayment(header: string): Members {
  const members = decodeObject(X_PAYMENT, header, ["base64", "base64url"]);
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

/**
 * Reads the content that belongs to a method: `tx` or `tx_signature` to a transfer; `transaction`, or an x402
 * payload of version 1, to a gasless payment. Returns undefined if it belongs to another method.
 * @throws ToolgateError INVALID_PAYMENT 400 naming the problem
 */
export function readXPayment(members: Members, method: "transfer" | "gasless"): XPayment | undefined {
  const has = (name: string) => Object.hasOwn(members, name);
  const gasless = has("x402Version") || has("transaction");
  if (method === "gasless" ? !gasless : gasless || !(has("tx") || has("tx_signature"))) return undefined;
  return has("x402Version") ? parseX402(members) : parseOwn(members);
}

/** @throws ToolgateError INVALID_PAYMENT 400 for content that belongs to no method */
export function refuseXPayment(members: Members): never {
  parseOwn(members);
  throw malformedProof(`${X_PAYMENT}: no payment method takes this proof`);
}

function parseX402(members: Members): XPayment {
  const both = OWN_MEMBERS.find((name) => Object.hasOwn(members, name));
  if (both !== undefined)
    throw malformedProof(`${X_PAYMENT}: x402Version and ${both} are of two kinds of proof; send one of them`);
  const version = members["x402Version"];
  if (version === 2)
    throw malformedProof(`${X_PAYMENT}: send an x402 payload of version 2 in PAYMENT-SIGNATURE`);
  if (version !== 1)
    throw malformedProof(`${X_PAYMENT}: x402Version must be 1; version 2 belongs into PAYMENT-SIGNATURE`);
  return { form: "x402", payload: parseX402PayloadV1(members, X_PAYMENT) };
}

function parseOwn(members: Members): XPayment {
  const unknown = Object.keys(members).find((name) => !OWN_MEMBERS.includes(name));
  if (unknown !== undefined)
    throw malformedProof(
      `${X_PAYMENT}: unknown member ${JSON.stringify(unknown.slice(0, 64))}; send {tx, quote_id} or ` +
        "{transaction, quote_id}",
    );
  const path = `${X_PAYMENT}: `;
  const tx = textMember(members, "tx", path);
  const signature = textMember(members, "tx_signature", path);
  const quoteId = textMember(members, "quote_id", path);
  if (tx !== undefined && signature !== undefined && tx !== signature) {
    throw malformedProof(`${X_PAYMENT}: tx and tx_signature differ; send one of them`);
  }
  const txRef = tx ?? signature;
  if (Object.hasOwn(members, "transaction")) {
    if (txRef !== undefined)
      throw malformedProof(
        `${X_PAYMENT}: transaction asks us to send it and tx says that you did; send one of them`,
      );
    if (quoteId === undefined) throw quoteMissing();
    return { form: "transaction", transaction: transactionMember(members, "transaction", path), quoteId };
  }
  if (txRef === undefined)
    throw malformedProof(`${X_PAYMENT}: tx is missing; send the signature of your transaction`);
  if (quoteId === undefined) throw quoteMissing();
  return { form: "transfer", txRef, quoteId };
}

function quoteMissing() {
  return malformedProof(`${X_PAYMENT}: quote_id is missing; send the quote that you pay`);
}
