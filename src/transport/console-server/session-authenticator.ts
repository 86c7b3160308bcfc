import { createHash } from "node:crypto";
import type { Sessions, SignedIn } from "../../app/session-ports.ts";
import type { Clock } from "../../domain/clock.ts";
import { ToolgateError } from "../../domain/errors.ts";
import { Lru } from "../../domain/lru.ts";
import type { RateTier } from "../../domain/rate-limit.ts";
import { RateLimitedError } from "../key-authenticator.ts";
import { TokenBuckets } from "../token-buckets.ts";
import type { Authentication, Credentials, RequestAuthenticator, ClientInfo } from "../authentication.ts";
import { clientAddress, networkOf } from "../remote-address.ts";
import type { Endpoint } from "../services/service-impl.ts";
import type { ConsoleOrigin } from "./console-origin.ts";
import { tokenFromCookie } from "./cookie.ts";

/** Requests of one session, for each instance. */
export const SESSION_RATE: RateTier = { ratePerMinute: 600, burst: 100 };

/** Cookies without a session that an address may send: those of sessions that ended come by themselves. */
export const INVALID_COOKIE_RATE: RateTier = { ratePerMinute: 60, burst: 120 };

/** Sessions at most that are remembered as good ones. */
const MAX_KNOWN_TOKENS = 10_000;

/** What the gate needs. */
export interface SessionAuthenticatorOptions {
  readonly sessions: Pick<Sessions, "find">;
  readonly origin: ConsoleOrigin;
  readonly clock: Clock;
  /** How many proxies stand before this server and append to X-Forwarded-For. */
  readonly trustedProxies: number;
}

/**
 * The console's gate: a session's cookie, shown by a page of the console's own. API keys open nothing here; an Authorization header is
 * not looked at, since a proxy may ask for one of its own. Each session is looked for each time, so one that was ended is gone at once.
 */
export class SessionAuthenticator implements RequestAuthenticator {
  readonly #options: SessionAuthenticatorOptions;
  readonly #sessionRates: TokenBuckets;
  readonly #invalidCookies: TokenBuckets;
  /** Hashes of tokens that were good when they were last sent: those are no guesses, wherever they come from. */
  readonly #knownTokens = new Lru<string, true>(MAX_KNOWN_TOKENS);

  constructor(options: SessionAuthenticatorOptions) {
    this.#options = options;
    this.#sessionRates = new TokenBuckets(options.clock, SESSION_RATE);
    this.#invalidCookies = new TokenBuckets(options.clock, INVALID_COOKIE_RATE);
  }

  async authenticate(demand: Endpoint["key"], credentials: Credentials): Promise<Authentication> {
    const { origin: place, trustedProxies } = this.#options;
    const { page } = credentials;
    if (!page) throw new Error("the console is served over HTTP alone");
    place.requireOwnPage(page);
    const address = clientAddress(credentials, trustedProxies);
    const client = { address, network: networkOf(address), userAgent: page.userAgent ?? "" };
    const form = place.cookie;
    const token = form && demand !== "none" ? tokenFromCookie(page.cookie, form) : undefined;
    const signedIn = token === undefined ? undefined : await this.#find(token, client);
    if (!signedIn) {
      if (demand === "required")
        throw new ToolgateError("UNAUTHORIZED", "nobody is signed in, or no longer; sign in");
      return { caller: undefined, rate: undefined, client };
    }
    const rate = this.#sessionRates.take(signedIn.caller.keyId);
    if (!rate.allowed) throw new RateLimitedError(rate, "requests of one session");
    return { caller: signedIn.caller, rate, client };
  }

  async #find(token: string, { network }: ClientInfo): Promise<SignedIn | undefined> {
    const hash = createHash("sha256").update(token).digest("base64");
    const refusal = this.#invalidCookies.refusal(network);
    if (refusal && !this.#knownTokens.get(hash))
      throw new RateLimitedError(refusal, "unknown sessions from your address");
    const signedIn = await this.#options.sessions.find(token);
    if (signedIn) {
      this.#knownTokens.set(hash, true);
    } else {
      this.#knownTokens.delete(hash);
      this.#invalidCookies.count(network);
    }
    return signedIn;
  }
}
