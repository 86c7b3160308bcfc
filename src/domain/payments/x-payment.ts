import { decodeObject } from "./encoded-object.ts";
import { malformedProof } from "../core/errors.ts";
import { textMember, transactionMember } from "./proof-members.ts";
import { parseX402PayloadV1, type X402Payload } from "./x402-payload.ts";

/** Content of the X-Payment header (specification 2.4): a sent transfer, or a transaction to send. */
export type XPayment =
  | { form: "transfer"; txRef: string; quoteId: string }
  | { form: "transaction"; transaction: Uint8Array; quoteId: string }
  | { form: "x402"; payload: X402Payload };

type Members = Readonly<Record<string, unknown>>;

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
  return decodeObject(X_PAYMENT, header, ["base64", "base64url"]);
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
