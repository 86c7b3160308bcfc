import {
  parseBodyProof,
  requireQuoteId,
  requireSignature,
  type BodyProof,
  type TransferProof,
} from "./body-proof.ts";
import { decodeObject } from "./encoded-object.ts";
import { malformedProof } from "../core/errors.ts";
import { isJsonObject } from "../core/json.ts";
import { parseXPayment } from "./x-payment.ts";
import { parseX402Payload, type X402Payload } from "./x402-payload.ts";
import { META_PAYMENT, PAYMENT_SIGNATURE, type X402Terms } from "./x402.ts";

const META_CARRIER = `_meta["${META_PAYMENT}"]`;

/**
 * A claim that a transaction pays a quote. It is compared with quote and chain and proves nothing by
 * itself.
 */
export type Proof = TransferProof | GaslessProof;

/** A transaction signed by the caller, to be sent by the gateway. */
export interface GaslessProof {
  kind: "gasless";
  /** Where it was sent, as the caller knows it. */
  carrier: string;
  /** Wire bytes without our signature, which is the first. */
  transaction: Uint8Array;
  /** Undefined: only the memo names the quote. */
  quoteId: string | undefined;
  /** The offer as repeated by an x402 payload. */
  accepted: Partial<X402Terms> | undefined;
  /** Idempotency key of an x402 payload. */
  paymentId: string | undefined;
}

/** The places of a call that can carry a proof, as sent. */
export interface ProofCarriers {
  /** The X-Payment header. */
  readonly xPayment: string | undefined;
  /** The PAYMENT-SIGNATURE header (x402 v2, HTTP transport). */
  readonly paymentSignature?: string | undefined;
  /** `_meta["x402/payment"]` (x402 v2, MCP transport). */
  readonly metaPayment?: unknown;
  /** The body's payment_proof. */
  readonly paymentProof: BodyProof | undefined;
}

/**
 * Parses the proof of a call. Several places must carry the same proof.
 * @throws ToolgateError INVALID_PAYMENT 400: nothing was looked up or consumed
 */
export function parseProof(carriers: ProofCarriers, memoPrefix: string): Proof | undefined {
  const { xPayment, paymentSignature, metaPayment, paymentProof } = carriers;
  const found = [
    paymentProof && parseBodyProof(paymentProof, memoPrefix),
    paymentSignature === undefined ? undefined : parsePaymentSignature(paymentSignature),
    metaPayment === undefined ? undefined : parseMetaPayment(metaPayment),
    xPayment === undefined ? undefined : parseHeader(xPayment),
  ].filter((proof) => proof !== undefined);
  const [first, ...others] = found;
  if (first && others.some((other) => !isSame(first, other)))
    throw malformedProof(`${carriersOf(carriers)} name different payments; send one of them`);
  return first;
}

/**
 * Returns the x402 version of a payment, even if its payload is invalid; undefined: not x402. Decides how
 * the settlement is reported.
 */
export function x402VersionOf({ xPayment, paymentSignature, metaPayment }: ProofCarriers): 1 | 2 | undefined {
  if (paymentSignature !== undefined || metaPayment !== undefined) return 2;
  if (xPayment === undefined) return undefined;
  try {
    return parseXPayment(xPayment).form === "x402" ? 1 : undefined;
  } catch {
    return undefined;
  }
}

function isSame(one: Proof, other: Proof): boolean {
  if (one.kind === "transfer")
    return (
      other.kind === "transfer" && one.txSignature === other.txSignature && one.quoteId === other.quoteId
    );
  if (other.kind === "transfer") return false;
  const [mine, its] = [one, other].map(({ quoteId, paymentId, accepted }) => [quoteId, paymentId, accepted]);
  return (
    Buffer.compare(one.transaction, other.transaction) === 0 && JSON.stringify(mine) === JSON.stringify(its)
  );
}

function carriersOf({ xPayment, paymentSignature, metaPayment, paymentProof }: ProofCarriers): string {
  const sent = [
    xPayment !== undefined && "X-Payment",
    paymentSignature !== undefined && PAYMENT_SIGNATURE,
    metaPayment !== undefined && META_CARRIER,
    paymentProof !== undefined && "payment_proof",
  ];
  return sent.filter((name) => name !== false).join(" and ");
}

function parseHeader(header: string): Proof {
  const sent = parseXPayment(header);
  switch (sent.form) {
    case "transfer":
      return {
        kind: "transfer",
        txSignature: requireSignature(sent.txRef, "X-Payment: tx"),
        quoteId: requireQuoteId(sent.quoteId, "X-Payment: quote_id"),
        stated: { amount: undefined, memo: undefined, stepId: undefined },
      };
    case "transaction": {
      const quoteId = requireQuoteId(sent.quoteId, "X-Payment: quote_id");
      const { transaction } = sent;
      return {
        kind: "gasless",
        carrier: "X-Payment",
        transaction,
        quoteId,
        accepted: undefined,
        paymentId: undefined,
      };
    }
    case "x402":
      return gasless(sent.payload, "X-Payment");
  }
}

function parsePaymentSignature(header: string): Proof {
  const members = decodeObject(PAYMENT_SIGNATURE, header, ["base64"]);
  return gasless(parseX402Payload(members, PAYMENT_SIGNATURE), PAYMENT_SIGNATURE);
}

function parseMetaPayment(value: unknown): Proof {
  if (!isJsonObject(value))
    throw malformedProof(`${META_CARRIER}: must be a JSON object, an x402 payload of version 2`);
  return gasless(parseX402Payload(value, META_CARRIER), META_CARRIER);
}

function gasless({ transaction, accepted, paymentId }: X402Payload, carrier: string): GaslessProof {
  return { kind: "gasless", carrier, transaction, quoteId: undefined, accepted, paymentId };
}
