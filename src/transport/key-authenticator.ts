import type { Metrics } from "../app/operations/metrics.ts";
import type { Authenticator, RateLimiter } from "../app/accounts/authenticator.ts";
import { isKeyLike, KEY_PREFIX } from "../domain/accounts/api-key.ts";
import { ToolgateError } from "../domain/core/errors.ts";
import type { Caller, RateDecision } from "../domain/accounts/caller.ts";
import type {
  Authentication,
  Credentials,
  KeyRequirement,
  PossessionProof,
  RequestAuthenticator,
} from "./authentication.ts";

/** An error for an authenticated caller, with rate limit headers. */
export abstract class RatedError extends ToolgateError {
  abstract readonly rate: RateDecision;
  /** Who sent the request; undefined where that is not known. */
  caller: Caller | undefined;
}

export function blockedMessage(reason: string): string {
  return `the account is blocked: ${reason}. Ask the operator`;
}

/** FORBIDDEN: the operator blocked the account with a reason. */
export class BlockedError extends RatedError {
  readonly rate: RateDecision;

  constructor(rate: RateDecision, reason: string) {
    super("FORBIDDEN", blockedMessage(reason));
    this.rate = rate;
  }
}

const ALL_KEYS = "requests with all API keys of the account together";

export class RateLimitedError extends RatedError {
  readonly rate: RateDecision;

  /** @param what subject of the message, such as "requests with this API key" */
  constructor(rate: RateDecision, what = rate.ofAccount ? ALL_KEYS : "requests with this API key") {
    const { limit, retryAfterSeconds } = rate;
    super("RATE_LIMITED", `too many ${what} (${limit} per minute); try again in ${retryAfterSeconds} s`, {
      retryAfterSeconds,
    });
    this.rate = rate;
  }
}

const ANONYMOUS: Authentication = { caller: undefined, rate: undefined };
/** `Bearer` or `DPoP` in any case, spaces, one token (RFC 6750 section 2.1, RFC 9110 section 11.1). */
const BEARER = /^(bearer|dpop) +([\x21-\x7e]{1,256})$/i;

/** The same with a JWT, which may have many claims. */
const LONG_BEARER = /^(bearer|dpop) +(eyJ[\w.-]{1,8192})$/i;

/** Access tokens of trusted issuers. */
interface OutsideTokens {
  isToken(text: string): boolean;
  /** Synchronous if cached. @throws ToolgateError UNAUTHORIZED, RATE_LIMITED, UNAVAILABLE */
  authenticate(token: string, credentials: Credentials): Caller | Promise<Caller>;
}

/** @throws ToolgateError UNAUTHORIZED unless the request proves possession of the key of its token */
interface ProofChecker {
  require(token: string, boundTo: string, possession: PossessionProof | undefined): void;
}

/** Authenticates API keys and applies their rate limits, for every transport. */
export class KeyAuthenticator implements RequestAuthenticator {
  readonly #authenticator: Authenticator;
  readonly #rateLimiter: RateLimiter;
  readonly #metrics: Metrics | undefined;
  readonly #wallets: RequestAuthenticator | undefined;
  readonly #proofs: ProofChecker | undefined;
  readonly #outside: OutsideTokens | undefined;

  /**
   * @param wallets undefined: calls without a key are off
   * @param proofs of tokens that are bound to a key
   * @param outside undefined: no issuer is trusted
   */
  constructor(
    authenticator: Authenticator,
    rateLimiter: RateLimiter,
    metrics?: Metrics,
    wallets?: RequestAuthenticator,
    proofs?: ProofChecker,
    outside?: OutsideTokens,
  ) {
    this.#outside = outside;
    this.#proofs = proofs;
    this.#wallets = wallets;
    this.#authenticator = authenticator;
    this.#rateLimiter = rateLimiter;
    this.#metrics = metrics;
  }

  /**
   * Checks the key, then the rate limit; an invalid key consumes nothing.
   * @throws ToolgateError UNAUTHORIZED; RateLimitedError; ToolgateError FORBIDDEN for a blocked account
   */
  authenticate(
    requirement: KeyRequirement,
    credentials: Credentials,
  ): Authentication | Promise<Authentication> {
    const { authorization, signIn } = credentials;
    const signed = requirement === "key-or-sign-in" && authorization === undefined && signIn !== undefined;
    if (requirement === "wallet" || requirement === "sign-in" || signed)
      return this.#wallets?.authenticate(requirement, credentials) ?? ANONYMOUS;
    if (requirement === "none" || (requirement === "optional" && authorization === undefined))
      return ANONYMOUS;
    const sent = tokenOf(authorization, this.#outside);
    const found =
      this.#outside && !isKeyLike(sent.secret)
        ? this.#outsideCaller(this.#outside.authenticate(sent.secret, credentials))
        : this.#authenticator.authenticate(sent.secret);
    return found instanceof Promise
      ? found.then((caller) => this.#limited(this.#holder(caller, sent, credentials)))
      : this.#limited(this.#holder(found, sent, credentials));
  }

  #outsideCaller(found: Caller | Promise<Caller>): Caller | Promise<Caller> {
    if (!(found instanceof Promise)) return found;
    return found.catch((error: unknown) => {
      if (error instanceof ToolgateError && error.code === "UNAUTHORIZED")
        this.#metrics?.count("toolgate_keys_refused_total");
      throw error;
    });
  }

  /** Returns the caller if it holds the key of its token. @throws ToolgateError UNAUTHORIZED */
  #holder(caller: Caller | undefined, { isBound, secret }: Token, { possession }: Credentials) {
    const boundTo = caller?.boundTo;
    if (isBound !== (boundTo !== undefined) && caller)
      throw unauthorized(`send the token as Authorization: ${isBound ? "Bearer" : "DPoP"} <TOKEN>`);
    if (boundTo !== undefined) this.#proofs?.require(secret, boundTo, possession);
    return caller;
  }

  #limited(caller: Caller | undefined): Authentication | Promise<Authentication> {
    if (!caller) throw this.#refused();
    const taken = this.#rateLimiter.take(caller);
    return taken instanceof Promise
      ? taken.then((rate) => this.#accepted(caller, rate))
      : this.#accepted(caller, taken);
  }

  /** @throws RateLimitedError; BlockedError */
  #accepted(caller: Caller, rate: RateDecision): Authentication {
    if (!rate.allowed) {
      this.#metrics?.count("toolgate_rate_limited_total", 1, { limit: rate.ofAccount ? "account" : "key" });
      throw refused(new RateLimitedError(rate), caller);
    }
    if (caller.blockedReason !== undefined)
      throw refused(new BlockedError(rate, caller.blockedReason), caller);
    return { caller, rate };
  }

  #refused(): ToolgateError {
    this.#metrics?.count("toolgate_keys_refused_total");
    return unauthorized(
      "the API key is unknown, has expired or was revoked; " +
        "create a key in the console, or with `toolgate keys create`",
    );
  }
}

function refused(error: RatedError, caller: Caller): RatedError {
  error.caller = caller;
  return error;
}

interface Token {
  readonly secret: string;
  /** Sent with the scheme DPoP (RFC 9449 section 7.1). */
  readonly isBound: boolean;
}

function tokenOf(authorization: string | undefined, outside: OutsideTokens | undefined): Token {
  if (authorization === undefined) {
    throw unauthorized(
      "the Authorization header is missing; send Authorization: Bearer <API_KEY>, or X-API-Key: <API_KEY>, " +
        "with a key from the console or `toolgate keys create`",
    );
  }
  const long = outside && LONG_BEARER.exec(authorization);
  const [, scheme = "", secret] = long ?? BEARER.exec(authorization) ?? [];
  if (secret === undefined)
    throw unauthorized("the Authorization header is not of the form Bearer <API_KEY>");
  if (!isKeyLike(secret) && outside?.isToken(secret) !== true)
    throw unauthorized(
      `not an API key; keys start with ${KEY_PREFIX}; ` +
        "create one in the console or with `toolgate keys create`",
    );
  return { secret, isBound: scheme.toLowerCase() === "dpop" };
}

function unauthorized(message: string): ToolgateError {
  return new ToolgateError("UNAUTHORIZED", message);
}
