import { hash } from "node:crypto";
import type { Metrics } from "../app/metrics.ts";
import type { Authenticator, RateLimiter } from "../app/ports.ts";
import { KEY_PREFIX } from "../domain/api-key.ts";
import type { Caller } from "../domain/caller.ts";
import { ToolgateError } from "../domain/errors.ts";
import { Lru } from "../domain/lru.ts";
import type { RateDecision } from "../domain/rate-limit.ts";
import type { AddressLimit } from "./address-limit.ts";
import type { Admission, Arrival, Gate } from "./gate.ts";
import type { Origin } from "./remote-address.ts";
import type { Endpoint } from "./services/service-impl.ts";

/** A refusal of somebody who is known, with what the rate headers say. */
export abstract class RatedError extends ToolgateError {
  abstract readonly rate: RateDecision;
}

/** FORBIDDEN: the operator blocked the account, and says why. */
class BlockedError extends RatedError {
  readonly rate: RateDecision;

  constructor(rate: RateDecision, reason: string) {
    super("FORBIDDEN", `the account is blocked: ${reason}. Ask the operator`);
    this.rate = rate;
  }
}

/** RATE_LIMITED, with what the rate headers say. */
export class RateLimitedError extends RatedError {
  readonly rate: RateDecision;

  /** @param what there were too many of */
  constructor(rate: RateDecision, what = "requests with this API key") {
    const { limit, retryAfterSeconds } = rate;
    super("RATE_LIMITED", `too many ${what} (${limit} per minute); try again in ${retryAfterSeconds} s`, {
      retryAfterSeconds,
    });
    this.rate = rate;
  }
}

const ANYONE: Admission = { caller: undefined, rate: undefined };
/** `Bearer` in any case, spaces, one token (RFC 6750 section 2.1, RFC 9110 section 11.1). */
const BEARER = /^bearer +([\x21-\x7e]{1,256})$/i;

/** Keys at most that are remembered as good ones. */
const PROVEN = 10_000;

/** Who may come in: API keys and their rate, the same at every door. */
export class Access implements Gate {
  readonly #authenticator: Authenticator;
  readonly #rateLimiter: RateLimiter;
  readonly #addresses: AddressLimit;
  readonly #metrics: Metrics | undefined;
  /** Hashes of keys that were good when they were last sent: those are no guesses, wherever they come from. */
  readonly #proven = new Lru<string, true>(PROVEN);

  constructor(authenticator: Authenticator, rateLimiter: RateLimiter, addresses: AddressLimit, metrics?: Metrics) {
    this.#authenticator = authenticator;
    this.#rateLimiter = rateLimiter;
    this.#addresses = addresses;
    this.#metrics = metrics;
  }

  /**
   * Checks the key, then its rate; a bad key takes nothing from any key's bucket, but counts against the address that it came from.
   * @throws ToolgateError UNAUTHORIZED; RateLimitedError; ToolgateError FORBIDDEN for a blocked account
   */
  async admit(demand: Endpoint["key"], arrival: Arrival): Promise<Admission> {
    if (demand === "none" || (demand === "optional" && arrival.authorization === undefined)) return ANYONE;
    const found = this.#identify(secretOf(arrival.authorization), arrival);
    const caller = found instanceof Promise ? await found : found;
    const taken = this.#rateLimiter.take(caller.keyId, caller.tier);
    const rate = taken instanceof Promise ? await taken : taken;
    if (!rate.allowed) throw new RateLimitedError(rate);
    if (caller.blockedReason !== undefined) throw new BlockedError(rate, caller.blockedReason);
    return { caller, rate };
  }

  /** @throws ToolgateError UNAUTHORIZED; RateLimitedError for a key that nobody has proven, from an address that sent too many bad ones */
  #identify(secret: string, origin: Origin): Caller | Promise<Caller> {
    const network = this.#addresses.networkOf(origin);
    const refusal = this.#addresses.refusal(network);
    if (refusal && !this.#proven.get(printOf(secret))) {
      this.#metrics?.count("toolgate_addresses_limited_total");
      throw new RateLimitedError(refusal, "unknown API keys from your address");
    }
    const found = this.#authenticator.authenticate(secret);
    return found instanceof Promise ? this.#prove(found, secret, network) : found;
  }

  /** Remembers what the database says of a key; what is known from memory was proven before. */
  async #prove(found: Promise<Caller | undefined>, secret: string, network: string): Promise<Caller> {
    const caller = await found;
    const print = printOf(secret);
    if (caller) {
      this.#proven.set(print, true);
      return caller;
    }
    this.#proven.delete(print);
    this.#addresses.count(network);
    this.#metrics?.count("toolgate_keys_refused_total");
    throw unauthorized(
      "the API key is unknown, has expired or was revoked; create a key in the console, or with `toolgate keys create`",
    );
  }
}

function printOf(secret: string): string {
  return hash("sha256", secret, "base64");
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
