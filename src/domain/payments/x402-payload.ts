import { malformedProof } from "../core/errors.ts";
import { member, objectMember, textMember, transactionMember } from "./proof-members.ts";
import { X402_NETWORK, X402_SCHEME, X402_V1_NETWORK, type X402Terms } from "./x402.ts";

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

type Members = Readonly<Record<string, unknown>>;

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
export function parseX402PayloadV1(members: Members, carrier: string): X402Payload {
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

function parseAccepted(accepted: Members, path: string): Partial<X402Terms> {
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

function demanded(members: Members, name: string, path: string): Members {
  const value = objectMember(members, name, path);
  if (!value) throw malformedProof(`${path}${name} is missing`);
  return value;
}
