import type { Authenticator, RateLimiter } from "../app/ports.ts";
import { KEY_PREFIX } from "../domain/api-key.ts";
import type { Caller } from "../domain/caller.ts";
import { ToolgateError } from "../domain/errors.ts";
import type { RateDecision } from "../domain/rate-limit.ts";
import type { Endpoint } from "./services/service-impl.ts";

/** A caller that was let in. */
export interface Admission {
  /** Undefined where no key is asked for and none was sent. */
  readonly caller: Caller | undefined;
  /** What is left of the key's rate; undefined without a key. */
  readonly rate: RateDecision | undefined;
}

/** RATE_LIMITED, with what the rate headers say. */
export class RateLimitedError extends ToolgateError {
  readonly rate: RateDecision;

  constructor(rate: RateDecision) {
    const { limit, retryAfterSeconds } = rate;
    super(
      "RATE_LIMITED",
      `too many requests with this API key (${limit} per minute); try again in ${retryAfterSeconds} s`,
      { retryAfterSeconds },
    );
    this.rate = rate;
  }
}

const ANYONE: Admission = { caller: undefined, rate: undefined };
/** `Bearer` in any case, spaces, one token (RFC 6750 section 2.1, RFC 9110 section 11.1). */
const BEARER = /^bearer +([\x21-\x7e]{1,256})$/i;

/** Who may come in: API keys and their rate, the same at every door. */
export class Access {
  readonly #authenticator: Authenticator;
  readonly #rateLimiter: RateLimiter;

  constructor(authenticator: Authenticator, rateLimiter: RateLimiter) {
    this.#authenticator = authenticator;
    this.#rateLimiter = rateLimiter;
  }

  /**
   * Checks the key, then its rate; a bad key takes nothing from any bucket.
   * @param authorization the Authorization header (specification 5), undefined when absent
   * @throws ToolgateError UNAUTHORIZED; RateLimitedError
   */
  async admit(demand: Endpoint["key"], authorization: string | undefined): Promise<Admission> {
    if (demand === "none" || (demand === "optional" && authorization === undefined)) return ANYONE;
    const caller = await this.#authenticator.authenticate(secretOf(authorization));
    if (!caller)
      throw unauthorized(
        "the API key is unknown or was revoked; create a key in the console, or with `toolgate keys create`",
      );
    const rate = await this.#rateLimiter.take(caller.keyId, caller.tier);
    if (!rate.allowed) throw new RateLimitedError(rate);
    return { caller, rate };
  }
}

function secretOf(authorization: string | undefined): string {
  if (authorization === undefined) {
    throw unauthorized(
      "the Authorization header is missing; send Authorization: Bearer <API_KEY> with a key from the console or `toolgate keys create`",
    );
  }
  const secret = BEARER.exec(authorization)?.[1];
  if (secret === undefined) throw unauthorized("the Authorization header is not of the form Bearer <API_KEY>");
  if (!secret.startsWith(KEY_PREFIX))
    throw unauthorized(
      `this is not an API key; keys begin with ${KEY_PREFIX} and are created in the console, or with \`toolgate keys create\``,
    );
  return secret;
}

function unauthorized(message: string): ToolgateError {
  return new ToolgateError("UNAUTHORIZED", message);
}
