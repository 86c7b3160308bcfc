import { hash } from "node:crypto";
import type { OutsideGrant, OutsideGrants } from "../../app/oauth/outside-grants.ts";
import { tokenCaller, type Caller } from "../../domain/accounts/caller.ts";
import type { TrustedIssuer } from "../../domain/accounts/outside-identity.ts";
import type { Scope } from "../../domain/accounts/scope.ts";
import type { Clock } from "../../domain/core/clock.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { isJsonObject } from "../../domain/core/json.ts";
import { Lru } from "../../domain/core/lru.ts";
import type { Credentials } from "../authentication.ts";
import type { UnpaidTime } from "../unpaid-time.ts";
import {
  grantOf,
  isJwt,
  type IssuerTokens,
  LEEWAY_S,
  scopesOf,
  TokenError,
  type VerifiedToken,
} from "./issuer-tokens.ts";

const MAX_CACHED = 10_000;

/** What checking a signature takes, ms; generous, and on another thread. */
const VERIFY_MS = 1;

/** RFC 9068 section 2.1; many issuers write JWT, or nothing. */
const ACCESS_TOKEN_TYPES = ["at+jwt", "jwt", ""];

/** What does not change of a verified token. */
interface KnownToken {
  readonly grant: OutsideGrant;
  readonly scopes: ReadonlySet<Scope>;
  /** Thumbprint of the key that it is bound to (RFC 9449 section 6). */
  readonly boundTo: string | undefined;
  /** ms */
  readonly expiresAt: number;
  /** The last caller, and the caller of the key that it was made of. */
  last?: { readonly key: Caller; readonly caller: Caller };
}

export interface OutsideTokensParts {
  readonly tokens: IssuerTokens;
  readonly grants: OutsideGrants;
  readonly time: Pick<UnpaidTime, "take">;
  readonly clock: Clock;
  /** Audiences of an issuer without its own. */
  readonly resources: () => readonly string[];
}

/** Access tokens of trusted issuers, as credentials. */
export class OutsideTokens {
  readonly #parts: OutsideTokensParts;
  /** By the SHA-256 of the token. */
  readonly #known = new Lru<string, KnownToken>(MAX_CACHED);

  constructor(parts: OutsideTokensParts) {
    this.#parts = parts;
  }

  isToken(text: string): boolean {
    return isJwt(text);
  }

  /**
   * Returns a token's caller, synchronously if it is cached.
   * @throws ToolgateError UNAUTHORIZED; RATE_LIMITED; UNAVAILABLE
   */
  authenticate(token: string, credentials: Credentials): Caller | Promise<Caller> {
    const digest = hash("sha256", token, "hex");
    const known = this.#known.get(digest);
    if (known && known.expiresAt > this.#parts.clock.now()) return this.#callerOf(known);
    return this.#verify(token, credentials).then((verified) => {
      this.#known.set(digest, verified);
      return this.#callerOf(verified);
    });
  }

  #callerOf(known: KnownToken): Caller | Promise<Caller> {
    const key = this.#parts.grants.callerOf(known.grant);
    return key instanceof Promise ? key.then((found) => callerOf(known, found)) : callerOf(known, key);
  }

  async #verify(token: string, credentials: Credentials): Promise<KnownToken> {
    const { tokens, time, resources } = this.#parts;
    const wanted = {
      types: ACCESS_TOKEN_TYPES,
      audiences: ({ audiences }: TrustedIssuer) => audiences ?? resources(),
    };
    try {
      const verified = await tokens.verify(token, wanted, () => time.take(credentials, VERIFY_MS));
      requireClient(verified);
      const grant = grantOf(verified);
      const expiresAt = (verified.expiresAt + LEEWAY_S) * 1000;
      return { grant, scopes: scopesOf(verified), boundTo: boundTo(verified), expiresAt };
    } catch (error) {
      if (!(error instanceof TokenError)) throw error;
      throw new ToolgateError("UNAUTHORIZED", `the access token ${error.message}`);
    }
  }
}

function callerOf(known: KnownToken, key: Caller): Caller {
  if (known.last?.key !== key) known.last = { key, caller: tokenCaller(key, known.scopes, known.boundTo) };
  return known.last.caller;
}

/** The application that it was issued to: RFC 9068 section 2.2, OpenID Connect Core section 2, and Okta. */
function requireClient({ issuer: { clients }, claims }: VerifiedToken): void {
  if (!clients) return;
  const named = ["azp", "client_id", "cid"].map((claim) => claims[claim]).filter((one) => one !== undefined);
  if (named.length === 0 || !named.every((one) => typeof one === "string" && clients.has(one)))
    throw new TokenError("was issued to an application that is not allowed");
}

/** @throws TokenError for a token that is bound in a way that is not checked here */
function boundTo({ claims: { cnf } }: VerifiedToken): string | undefined {
  if (cnf === undefined) return undefined;
  const jkt = isJsonObject(cnf) && Object.keys(cnf).length === 1 ? cnf["jkt"] : undefined;
  if (typeof jkt !== "string") throw new TokenError("is bound to something else than a DPoP key");
  return jkt;
}
