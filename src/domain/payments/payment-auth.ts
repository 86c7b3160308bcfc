import { hash } from "node:crypto";
import canonicalize from "canonicalize";
import { malformedProof } from "../core/errors.ts";
import { isJsonObject } from "../core/json.ts";
import { objectIn } from "./encoded-object.ts";
import { demanded, demandedText, textMember, type Members } from "./x402-payload.ts";
import type { X402Treasury } from "./x402.ts";

// The HTTP authentication scheme `Payment` (draft-httpauth-payment) and its method `solana` with the intent
// `charge` (draft-solana-charge).

/** Carriers of a credential: the Authorization header, and `_meta` of an MCP request. */
export const CREDENTIAL = "Authorization: Payment";
export const META_CREDENTIAL = "org.paymentauth/credential";

export const SOLANA_CHARGE = { method: "solana", intent: "charge" } as const;
const USDC_DECIMALS = 6;
/** SPL Token, of which USDC is a mint. */
const TOKEN_PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";

/** A quote as a request of a payment method. */
export interface PaymentRequest {
  readonly method: string;
  readonly intent: string;
  /** Its JSON is canonical (RFC 8785): members in order, and no numbers but integers. */
  readonly request: object;
}

/** A challenge as its header has it. Objects are base64url of canonical JSON (RFC 8785). */
export interface PaymentChallenge {
  readonly id: string;
  readonly realm: string;
  readonly method: string;
  readonly intent: string;
  readonly request: string;
  readonly expires: string | undefined;
  /** Of the request's body (RFC 9530); undefined without a body that is bound. */
  readonly digest: string | undefined;
  readonly opaque: string | undefined;
}

export interface PaymentCredential {
  readonly challenge: PaymentChallenge;
  readonly quoteId: string;
  /** Of the method: own members only. */
  readonly payload: Members;
}

/** Returns the request for a USDC transfer. @param memo `<prefix>:<quote_id>` @param sponsor pays the fee */
export function solanaCharge(
  { owner, mint }: X402Treasury,
  memo: string,
  price: bigint,
  sponsor?: { readonly feePayerKey: string; readonly recentBlockhash: string | undefined },
): PaymentRequest {
  const { feePayerKey, recentBlockhash } = sponsor ?? {};
  const methodDetails = {
    decimals: USDC_DECIMALS,
    feePayer: sponsor && true,
    feePayerKey,
    recentBlockhash,
    tokenProgram: TOKEN_PROGRAM,
  };
  const amount = String(price);
  return {
    ...SOLANA_CHARGE,
    request: { amount, currency: mint, externalId: memo, methodDetails, recipient: owner },
  };
}

/** Returns base64url of the JSON, which must be canonical (RFC 8785). */
export function encodeJson(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** Returns what the id of a challenge binds (draft-httpauth-payment, HMAC-SHA256 binding). */
export function boundParameters(challenge: Omit<PaymentChallenge, "id">): string {
  const { realm, method, intent, request, expires = "", digest = "", opaque = "" } = challenge;
  return [realm, method, intent, request, expires, digest, opaque].join("|");
}

/** Returns the value of `digest` for a body (RFC 9530). */
export function contentDigest(body: Uint8Array): string {
  return `sha-256=:${hash("sha256", body, "base64")}:`;
}

/**
 * Parses a credential. Nothing is priced from it: its id binds the echoed challenge.
 * @param carrier where it was sent, for errors
 * @throws ToolgateError INVALID_PAYMENT 400
 */
export function parseCredential(members: Members, carrier: string): PaymentCredential {
  const sent = demanded(members, "challenge", `${carrier}: `);
  const path = `${carrier}: challenge.`;
  const opaque = encodedMember(sent, "opaque", path);
  const challenge = {
    id: demandedText(sent, "id", path),
    realm: demandedText(sent, "realm", path),
    method: demandedText(sent, "method", path),
    intent: demandedText(sent, "intent", path),
    request: encodedMember(sent, "request", path) ?? "",
    expires: textMember(sent, "expires", path),
    digest: textMember(sent, "digest", path),
    opaque,
  };
  refuseExtras(challenge.request, `${path}request.methodDetails.`);
  const payload = demanded(members, "payload", `${carrier}: `);
  if (payload["type"] === "bundle")
    throw malformedProof(`${carrier}: payload.type: split and confidential charges are not offered`);
  const meta = opaque === undefined ? undefined : objectIn(opaque, ["base64url"]);
  const quoteId = isJsonObject(meta) ? textMember(meta, "quote_id", `${path}opaque.`) : undefined;
  if (quoteId === undefined)
    throw malformedProof(`${path}opaque: names no quote_id; send the challenge of the 402 answer, unchanged`);
  return { challenge, quoteId, payload };
}

/** JSON-RPC has objects where the header has their encoding. */
function encodedMember(members: Members, name: string, path: string): string | undefined {
  const value = Object.hasOwn(members, name) ? members[name] : undefined;
  return isJsonObject(value)
    ? Buffer.from(canonicalize(value) ?? "").toString("base64url")
    : textMember(members, name, path);
}

function refuseExtras(request: string, path: string): void {
  const decoded = objectIn(request, ["base64url"]);
  const details = isJsonObject(decoded) ? decoded["methodDetails"] : undefined;
  if (!isJsonObject(details)) return;
  for (const name of ["splits", "confidential"])
    if (Object.hasOwn(details, name))
      throw malformedProof(`${path}${name}: split and confidential charges are not offered`);
}
