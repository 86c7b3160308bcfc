import { hash } from "node:crypto";
import type { RequestedLimits } from "./new-key.ts";
import { shownName, type OAuthClient } from "./oauth-client.ts";
import type { Scope } from "./scope.ts";

/** What an identity that no person of this gateway consented to may do, as the operator set it. */
export interface GrantTerms {
  /** At most. */
  readonly scopes: readonly Scope[];
  /** Of new grants. */
  readonly limits: RequestedLimits | undefined;
  /** `grp_…` of new grants. */
  readonly groupId: string | undefined;
}

/** An issuer of tokens that the operator trusts. */
export interface TrustedIssuer {
  readonly issuer: string;
  /** Audiences of its access tokens; undefined: this gateway's resources. */
  readonly audiences: readonly string[] | undefined;
  /** Applications that its access tokens may be issued to; undefined: all. */
  readonly clients: ReadonlySet<string> | undefined;
  /** The account of every subject, or the claim whose value selects it. */
  readonly account: string | { readonly claim: string; readonly accounts: ReadonlyMap<string, string> };
  /** Whether the first token of a subject makes its grant. */
  readonly firstUse: boolean;
  readonly terms: GrantTerms;
}

/** An application that the operator registered. */
export interface TrustedClient {
  readonly clientId: string;
  readonly name: string | undefined;
  /** A secret, or the public keys that it signs with. */
  readonly credential: { readonly secret: string } | { readonly keys: readonly Readonly<PublicJwk>[] };
  /** Whose tokens it gets for itself; undefined: none. */
  readonly account: string | undefined;
  readonly terms: GrantTerms;
}

/** A public key (RFC 7517); members of other kinds of keys are kept. */
export interface PublicJwk {
  [member: string]: unknown;
  kty: "EC" | "OKP" | "RSA";
}

/** A subject of a trusted issuer, or a trusted client for itself, on an account. */
export interface OutsideIdentity {
  /** Undefined: a client of the operator. */
  readonly issuer: string | undefined;
  readonly subject: string;
  readonly accountId: string;
}

/** Returns the hash of the key that is the grant of an identity, hex: so that it has one. */
export function grantHashOf({ issuer, subject, accountId }: OutsideIdentity): string {
  return hash("sha256", JSON.stringify(["grant", issuer ?? null, subject, accountId]), "hex");
}

/** Returns an identity as the console shows it. */
export function shownIdentity({ issuer, subject }: OutsideIdentity, name = subject): OAuthClient {
  const host = issuer === undefined ? "set by the operator" : new URL(issuer).host;
  return { clientId: issuer ?? subject, name: shownName(name, host), host, verified: true };
}
