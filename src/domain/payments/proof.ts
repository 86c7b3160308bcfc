import { decodeObject } from "./encoded-object.ts";
import { malformedProof } from "../core/errors.ts";
import { isJsonObject } from "../core/json.ts";
import { parseXPayment, refuseXPayment, X_PAYMENT, type Members } from "./x402-payload.ts";
import {
  CREDENTIAL,
  META_CREDENTIAL,
  parseCredential,
  type PaymentChallenge,
  type PaymentCredential,
} from "./payment-auth.ts";
import { META_PAYMENT, PAYMENT_SIGNATURE } from "./x402.ts";

const META_CARRIER = `_meta["${META_PAYMENT}"]`;
const CREDENTIAL_META_CARRIER = `_meta["${META_CREDENTIAL}"]`;
export const BODY_CARRIER = "payment_proof";

/**
 * A claim that a payment was made for a quote. It is compared with quote and network and proves nothing by
 * itself.
 */
export interface Proof {
  readonly method: string;
  /** Idempotency key inside the proof. */
  readonly paymentId?: string | undefined;
  /** What shows that its sender received the quote; only in x402 payloads of version 2. */
  readonly offerToken?: string | undefined;
  /** The challenge that a credential of the scheme `Payment` answers; undefined for other proofs. */
  readonly challenge?: PaymentChallenge | undefined;
}

/** The body form (specification 2.4). */
export interface BodyProof {
  txRef: string;
  network: string;
  amountUsdc?: string | undefined;
  memo?: string | undefined;
  quoteId?: string | undefined;
  stepId?: string | undefined;
}

/** The places of a call that can carry a proof, as sent. */
export interface ProofCarriers {
  /** The X-Payment header. */
  readonly xPayment: string | undefined;
  /** The PAYMENT-SIGNATURE header (x402 v2, HTTP transport). */
  readonly paymentSignature?: string | undefined;
  /** `_meta["x402/payment"]` (x402 v2, MCP transport). */
  readonly metaPayment?: unknown;
  /** Of the Authorization header with the scheme `Payment`, without the scheme. */
  readonly credential?: string | undefined;
  /** `_meta["org.paymentauth/credential"]` (draft-payment-transport-mcp). */
  readonly metaCredential?: unknown;
  /** The request's body, to which a challenge can be bound. */
  readonly body?: Uint8Array | undefined;
  readonly paymentProof: BodyProof | undefined;
}

/** Content of one place. */
export type CarriedProof =
  | { readonly carrier: typeof BODY_CARRIER; readonly body: BodyProof }
  | {
      readonly carrier: typeof CREDENTIAL | typeof CREDENTIAL_META_CARRIER;
      readonly members: Members;
      readonly credential: PaymentCredential;
    }
  | {
      readonly carrier: typeof PAYMENT_SIGNATURE | typeof META_CARRIER | typeof X_PAYMENT;
      /** Of a JSON object; own members only, inherited ones were not sent. */
      readonly members: Members;
    };

export interface ProofFormat<P extends Proof = Proof> {
  readonly name: string;
  /** The `network` of its body proofs. */
  readonly network: string;
  /**
   * Parses a proof of this method; undefined: the content has another method's form.
   * @throws ToolgateError INVALID_PAYMENT 400 if it has this method's form and is invalid
   */
  recognise(this: void, sent: CarriedProof): P | undefined;
  /** Whether two proofs of this method, from two places, name the same payment. */
  isSame(this: void, one: P, other: P): boolean;
}

/**
 * Parses the proof of a call. Several carriers must hold the same proof.
 * @param formats in order; the first that recognises a proof parses it
 * @throws ToolgateError INVALID_PAYMENT 400: nothing was looked up or consumed
 */
export function parseProof(carriers: ProofCarriers, formats: readonly ProofFormat[]): Proof | undefined {
  const { xPayment, paymentSignature, metaPayment, credential, metaCredential, paymentProof } = carriers;
  const found = [
    paymentProof && recognised({ carrier: BODY_CARRIER, body: paymentProof }, formats),
    paymentSignature === undefined ? undefined : recognised(signatureHeader(paymentSignature), formats),
    metaPayment === undefined ? undefined : recognised(metaMembers(metaPayment), formats),
    credential === undefined ? undefined : recognised(credentialHeader(credential), formats),
    metaCredential === undefined ? undefined : recognised(credentialMeta(metaCredential), formats),
    xPayment === undefined
      ? undefined
      : recognised({ carrier: X_PAYMENT, members: parseXPayment(xPayment) }, formats),
  ].filter((proof) => proof !== undefined);
  const [first, ...others] = found;
  if (first && others.some((other) => !isSame(first, other, formats)))
    throw malformedProof(`${carriersOf(carriers)} name different payments; send one of them`);
  return first;
}

function recognised(sent: CarriedProof, formats: readonly ProofFormat[]): Proof {
  for (const format of formats) {
    const proof = format.recognise(sent);
    if (proof) return proof;
  }
  if (sent.carrier === BODY_CARRIER) {
    const networks = new Set(formats.map(({ network }) => network));
    throw malformedProof(`payment_proof.network: must be ${[...networks].join(" or ")}`);
  }
  if (sent.carrier === X_PAYMENT) return refuseXPayment(sent.members);
  throw malformedProof(`${sent.carrier}: no payment method takes this payload`);
}

function isSame(one: Proof, other: Proof, formats: readonly ProofFormat[]): boolean {
  if (one.method !== other.method) return false;
  return formats.find(({ name }) => name === one.method)?.isSame(one, other) ?? false;
}

function carriersOf(carriers: ProofCarriers): string {
  const { xPayment, paymentSignature, metaPayment, credential, metaCredential, paymentProof } = carriers;
  const sent = [
    xPayment !== undefined && X_PAYMENT,
    paymentSignature !== undefined && PAYMENT_SIGNATURE,
    metaPayment !== undefined && META_CARRIER,
    credential !== undefined && CREDENTIAL,
    metaCredential !== undefined && CREDENTIAL_META_CARRIER,
    paymentProof !== undefined && BODY_CARRIER,
  ];
  return sent.filter((name) => name !== false).join(" and ");
}

function signatureHeader(header: string): CarriedProof {
  return { carrier: PAYMENT_SIGNATURE, members: decodeObject(PAYMENT_SIGNATURE, header, ["base64"]) };
}

/** Padding is accepted (draft-solana-charge, encoding conventions). */
function credentialHeader(header: string): CarriedProof {
  const members = decodeObject(CREDENTIAL, header, ["base64url"]);
  return { carrier: CREDENTIAL, members, credential: parseCredential(members, CREDENTIAL) };
}

function credentialMeta(value: unknown): CarriedProof {
  const carrier = CREDENTIAL_META_CARRIER;
  if (isJsonObject(value)) return { carrier, members: value, credential: parseCredential(value, carrier) };
  throw malformedProof(`${carrier}: must be a JSON object, a credential of the scheme Payment`);
}

/** Returns the id of the challenge that a call's credential answers; undefined without a readable one. */
export function challengeIdOf({ credential, metaCredential }: ProofCarriers): string | undefined {
  if (credential === undefined && metaCredential === undefined) return undefined;
  try {
    const sent = credential === undefined ? credentialMeta(metaCredential) : credentialHeader(credential);
    return "credential" in sent ? sent.credential.challenge.id : undefined;
  } catch {
    return undefined;
  }
}

function metaMembers(value: unknown): CarriedProof {
  if (isJsonObject(value)) return { carrier: META_CARRIER, members: value };
  throw malformedProof(`${META_CARRIER}: must be a JSON object, an x402 payload of version 2`);
}
