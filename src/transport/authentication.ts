import type { Caller, RateDecision } from "../domain/accounts/caller.ts";
import type { SignedInWallet } from "../app/accounts/sign-in.ts";
import type { RemotePeer } from "./remote-address.ts";

/** Required credentials; with `optional`, those sent must be valid. `wallet`: it pays or signs in. */
export type KeyRequirement = "none" | "optional" | "required" | "wallet" | "sign-in" | "key-or-sign-in";

/** `Payment` credentials pay and name no caller (draft-httpauth-payment). */
const PAYMENT_SCHEME = /^payment +(?=\S)/i;

/** Returns the credentials of the scheme `Payment`, without its name; undefined for any other scheme. */
export function paymentCredentials(authorization: string | undefined): string | undefined {
  const scheme = authorization === undefined ? undefined : PAYMENT_SCHEME.exec(authorization)?.[0];
  return scheme && authorization?.slice(scheme.length);
}

/** Returns the bearer token: of Authorization or, when that is absent or pays, of X-API-Key. */
export function bearerOf(authorization: string | undefined, apiKey: string | undefined): string | undefined {
  if (authorization !== undefined && !PAYMENT_SCHEME.test(authorization)) return authorization;
  return apiKey === undefined ? undefined : `Bearer ${apiKey}`;
}

/** Authenticates requests by API key or by session; neither accepts the other's credentials. */
export interface RequestAuthenticator {
  /** Synchronous if all is in memory. @throws ToolgateError UNAUTHORIZED, FORBIDDEN; RateLimitedError */
  authenticate(
    requirement: KeyRequirement,
    credentials: Credentials,
  ): Authentication | Promise<Authentication>;
}

export interface Authentication {
  /** Undefined for a method that requires no credentials when none were sent. */
  readonly caller: Caller | undefined;
  /** State of the caller's rate limit; undefined without a caller. */
  readonly rate: RateDecision | undefined;
  /** Where the request comes from; undefined where that does not matter. */
  readonly client?: ClientInfo;
}

export interface Credentials extends RemotePeer {
  /** The bearer token, of Authorization (specification 5) or X-API-Key; undefined when absent. */
  readonly authorization: string | undefined;
  /** The SIGN-IN-WITH-X header or metadata as sent; undefined when absent. */
  readonly signIn?: string | undefined;
  /** Undefined over gRPC. */
  readonly page?: PageRequest;
  /** Undefined over gRPC. */
  readonly possession?: PossessionProof;
}

/** What proves that the sender has the key of an access token (RFC 9449). */
export interface PossessionProof {
  /** The DPoP header as sent. */
  readonly proof: string | undefined;
  readonly method: string;
  readonly path: string;
  /** The same object for each message of a request. */
  readonly request: object;
}

/** A browser's headers about the requesting page. Headers are as sent, undefined when absent. */
export interface PageRequest {
  readonly method: string;
  readonly host: string | undefined;
  readonly cookie: string | undefined;
  /** Origin (Fetch standard). */
  readonly origin: string | undefined;
  /** Sec-Fetch-Site (Fetch Metadata). */
  readonly site: string | undefined;
  readonly userAgent: string | undefined;
}

/** The client of a request without an API key: of the console, or a wallet. */
export interface ClientInfo {
  /** The client's address behind trusted proxies. */
  readonly address: string;
  /** Rate limit key: the IPv4 address or the IPv6 /64 network. */
  readonly network: string;
  readonly userAgent: string;
  /** The sign-in of a wallet; undefined without one. */
  readonly signIn?: SignedInWallet | undefined;
}
