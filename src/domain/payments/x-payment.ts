import { decodeObject } from "./encoded-object.ts";
import { malformedProof } from "../core/errors.ts";
import { textMember, transactionMember } from "./proof-members.ts";
import { parseX402PayloadV1, type X402Payload } from "./x402-payload.ts";

/** Content of the X-Payment header (specification 2.4): a sent transfer, or a transaction to send. */
export type XPayment =
  | { form: "transfer"; txRef: string; quoteId: string }
  | { form: "transaction"; transaction: Uint8Array; quoteId: string }
  | { form: "x402"; payload: X402Payload };

const CARRIER = "X-Payment";
const OWN_MEMBERS: readonly string[] = ["tx", "tx_signature", "transaction", "quote_id"];

const TRANSFER_FORMAT = 'base64url(JSON {"tx": "<transaction signature>", "quote_id": "<quote_id>"})';
const GASLESS_FORMAT =
  'base64url(JSON {"transaction": "<base64 of the signed transaction>", "quote_id": "<quote_id>"})';

/** The format for `x402_header_format` (specification 2.3). */
export function xPaymentFormat(gasless: boolean): string {
  return gasless ? `${TRANSFER_FORMAT}, or gasless ${GASLESS_FORMAT}` : TRANSFER_FORMAT;
}

/**
 * Parses the X-Payment header: base64 or base64url (RFC 4648 sections 4 and 5), padding optional, of a JSON
 * object with `quote_id` and one of `tx`, `tx_signature` and `transaction`, or an x402 payload of version 1
 * if it has `x402Version`.
 * @throws ToolgateError INVALID_PAYMENT 400 naming the problem
 */
export function parseXPayment(header: string): XPayment {
  const members = decodeObject(CARRIER, header, ["base64", "base64url"]);
  return Object.hasOwn(members, "x402Version") ? parseX402(members) : parseOwn(members);
}

function parseX402(members: Record<string, unknown>): XPayment {
  const both = OWN_MEMBERS.find((name) => Object.hasOwn(members, name));
  if (both !== undefined)
    throw malformedProof(`${CARRIER}: x402Version and ${both} are of two kinds of proof; send one of them`);
  const version = members["x402Version"];
  if (version === 2)
    throw malformedProof(`${CARRIER}: send an x402 payload of version 2 in PAYMENT-SIGNATURE`);
  if (version !== 1)
    throw malformedProof(`${CARRIER}: x402Version must be 1; version 2 belongs into PAYMENT-SIGNATURE`);
  return { form: "x402", payload: parseX402PayloadV1(members, CARRIER) };
}

function parseOwn(members: Record<string, unknown>): XPayment {
  const unknown = Object.keys(members).find((name) => !OWN_MEMBERS.includes(name));
  if (unknown !== undefined)
    throw malformedProof(
      `${CARRIER}: unknown member ${JSON.stringify(unknown.slice(0, 64))}; send {tx, quote_id} or {transaction, quote_id}`,
    );
  const path = `${CARRIER}: `;
  const tx = textMember(members, "tx", path);
  const signature = textMember(members, "tx_signature", path);
  const quoteId = textMember(members, "quote_id", path);
  if (tx !== undefined && signature !== undefined && tx !== signature) {
    throw malformedProof(`${CARRIER}: tx and tx_signature differ; send one of them`);
  }
  const txRef = tx ?? signature;
  if (Object.hasOwn(members, "transaction")) {
    if (txRef !== undefined)
      throw malformedProof(
        `${CARRIER}: transaction asks us to send it and tx says that you did; send one of them`,
      );
    if (quoteId === undefined) throw quoteMissing();
    return { form: "transaction", transaction: transactionMember(members, "transaction", path), quoteId };
  }
  if (txRef === undefined)
    throw malformedProof(`${CARRIER}: tx is missing; send the signature of your transaction`);
  if (quoteId === undefined) throw quoteMissing();
  return { form: "transfer", txRef, quoteId };
}

function quoteMissing() {
  return malformedProof(`${CARRIER}: quote_id is missing; send the quote that you pay`);
}
