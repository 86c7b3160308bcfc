import type { JWTPayload } from "jose";
import type { OutsideGrant } from "../../app/oauth/outside-grants.ts";
import type { TrustedIssuer } from "../../domain/accounts/outside-identity.ts";
import { isScope, type Scope } from "../../domain/accounts/scope.ts";
import { objectOf, parsedJson, textOf } from "../../domain/core/json.ts";
import { IssuerKeys, type IssuerKeysParts } from "./issuer-keys.ts";

/** Longest token, characters: issuers may add many claims. */
const MAX_LENGTH = 8_192;

/** Difference between the clocks of issuers and this gateway, s. */
export const LEEWAY_S = 60;

/** Only asymmetric ones: what verifies a token cannot make one. */
const ALGORITHMS = ["RS", "PS", "ES"].flatMap((kind) => ["256", "384", "512"].map((bits) => kind + bits));
ALGORITHMS.push("EdDSA", "Ed25519");

const JWT = /^eyJ[\w-]+\.[\w-]+\.[\w-]*$/;

/** Whether a text has the form of a signed JWT (RFC 7519 section 3). */
export function isJwt(text: string): boolean {
  return text.length <= MAX_LENGTH && JWT.test(text);
}

/** Why a token is refused; the message begins after "the token". */
export class TokenError extends Error {
  override name = "TokenError";
}

export interface VerifiedToken {
  readonly issuer: TrustedIssuer;
  readonly claims: JWTPayload;
  readonly subject: string;
  /** Unix seconds */
  readonly expiresAt: number;
}

export interface WantedToken {
  /** Allowed values of the header `typ`, in lower case; "": absent. */
  readonly types: readonly string[];
  readonly audiences: (issuer: TrustedIssuer) => readonly string[];
}

/** Checks tokens that trusted issuers signed (RFC 9068 section 4, RFC 8725). */
export class IssuerTokens {
  readonly #issuers: ReadonlyMap<string, { readonly issuer: TrustedIssuer; readonly keys: IssuerKeys }>;
  readonly #now: () => number;

  constructor(issuers: readonly TrustedIssuer[], parts: IssuerKeysParts) {
    this.#now = () => parts.clock.now();
    this.#issuers = new Map(
      issuers.map((issuer) => [issuer.issuer, { issuer, keys: new IssuerKeys(issuer.issuer, parts) }]),
    );
  }

  /**
   * Checks a token. @param admit is called before anything that costs more than microseconds
   * @throws TokenError; ToolgateError UNAVAILABLE when the keys cannot be read; what `admit` throws
   */
  async verify(token: string, wanted: WantedToken, admit: () => void): Promise<VerifiedToken> {
    if (!isJwt(token)) throw new TokenError("is not a signed JWT");
    const [header, body] = token.split(".", 2).map((part) => objectOf(decoded(part)));
    const trusted = this.#issuers.get(textOf(body?.["iss"]));
    if (!trusted) throw new TokenError("is of an issuer that this gateway does not trust");
    if (!ALGORITHMS.includes(textOf(header?.["alg"])))
      throw new TokenError("is signed with an algorithm that is not allowed");
    const type = textOf(header?.["typ"]).toLowerCase();
    if (!wanted.types.includes(type.replace(/^application\//, "")))
      throw new TokenError("is of another type");
    admit();
    const { issuer, keys } = trusted;
    const { jwtVerify, errors } = await import("jose");
    try {
      const { payload } = await jwtVerify(token, keys.find, {
        algorithms: ALGORITHMS,
        issuer: issuer.issuer,
        audience: [...wanted.audiences(issuer)],
        clockTolerance: LEEWAY_S,
        currentDate: new Date(this.#now()),
        requiredClaims: ["exp", "sub"],
      });
      const { sub: subject = "", exp: expiresAt = 0 } = payload;
      if (subject === "" || subject.length > 255) throw new TokenError("has no usable sub");
      return { issuer, claims: payload, subject, expiresAt };
    } catch (error) {
      throw error instanceof errors.JOSEError ? new TokenError(problemOf(error)) : error;
    }
  }
}

/** @param error of the library */
function problemOf(error: { readonly code: string; readonly claim?: unknown; readonly reason?: unknown }) {
  if (error.code === "ERR_JWT_EXPIRED") return "has expired";
  if (error.code !== "ERR_JWT_CLAIM_VALIDATION_FAILED") return "is not signed with a key of its issuer";
  if (error.reason === "missing") return `has no ${String(error.claim)}`;
  if (error.claim === "aud") return "has another audience than this gateway";
  return error.claim === "nbf" ? "is not valid yet" : `has a wrong ${String(error.claim)}`;
}

/** Returns the grant that the operator gives a token's subject. @throws TokenError */
export function grantOf({ issuer, claims, subject }: VerifiedToken): OutsideGrant {
  const { account, terms, firstUse } = issuer;
  const accountId = typeof account === "string" ? account : accountBy(account, claims);
  return { identity: { issuer: issuer.issuer, subject, accountId }, terms, firstUse };
}

function accountBy(
  { claim, accounts }: Exclude<TrustedIssuer["account"], string>,
  claims: JWTPayload,
): string {
  const value = claims[claim];
  if (typeof value !== "string") throw new TokenError(`has no ${claim}, which selects the account`);
  const accountId = accounts.get(value);
  if (accountId === undefined) throw new TokenError(`has a ${claim} without an account here`);
  return accountId;
}

/** The scopes that the operator allows; fewer if the token has some of them. */
export function scopesOf({ issuer: { terms }, claims }: VerifiedToken): ReadonlySet<Scope> {
  const { scope, scp } = claims;
  const named = typeof scope === "string" ? scope.split(" ") : Array.isArray(scp) ? scp : [];
  const own = named.filter((one) => typeof one === "string" && isScope(one));
  return new Set(own.length === 0 ? terms.scopes : terms.scopes.filter((one) => own.includes(one)));
}

function decoded(part: string): unknown {
  return parsedJson(Buffer.from(part, "base64url").toString());
}
