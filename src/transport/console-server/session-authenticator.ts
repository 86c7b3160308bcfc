import { createHash } from "node:crypto";
import type { Sessions, SignedIn } from "../../app/accounts/authenticator.ts";
import type { Clock } from "../../domain/core/clock.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { Lru } from "../../domain/core/lru.ts";
import type { RateTier } from "../../domain/accounts/caller.ts";
import { RateLimitedError } from "../key-authenticator.ts";
import { TokenBuckets } from "../token-buckets.ts";
import type {
  Authentication,
  Credentials,
  RequestAuthenticator,
  ClientInfo,
  KeyRequirement,
} from "../authentication.ts";
import type { ClientAddresses } from "../remote-address.ts";
import type { ConsoleOrigin } from "./console-origin.ts";
import { tokenFromCookie } from "./cookie.ts";

/** Limit per session and instance. */
export const SESSION_RATE: RateTier = { ratePerMinute: 600, burst: 100 };

/** Limit of invalid cookies per address. Expired sessions send some without any attack. */
export const INVALID_COOKIE_RATE: RateTier = { ratePerMinute: 60, burst: 120 };

/** Capacity of the cache of valid tokens. */
const MAX_KNOWN_TOKENS = 10_000;

export interface SessionAuthenticatorOptions {
  readonly sessions: Pick<Sessions, "find">;
  readonly origin: ConsoleOrigin;
  readonly clock: Clock;
  readonly clients: ClientAddresses;
}

/** Authenticates console sessions by cookie, at each request: a revoked one ends at once. Ignores keys. */
export class SessionAuthenticator implements RequestAuthenticator {
  readonly #options: SessionAuthenticatorOptions;
  readonly #sessionRates: TokenBuckets;
  readonly #invalidCookies: TokenBuckets;
  /** Hashes of tokens that were valid when last sent: exempt from the limit of invalid cookies. */
  readonly #knownTokens = new Lru<string, true>(MAX_KNOWN_TOKENS);

  constructor(options: SessionAuthenticatorOptions) {
    this.#options = options;
    this.#sessionRates = new TokenBuckets(options.clock, SESSION_RATE);
    this.#invalidCookies = new TokenBuckets(options.clock, INVALID_COOKIE_RATE);
  }

  async authenticate(requirement: KeyRequirement, credentials: Credentials): Promise<Authentication> {
    const { origin, clients } = this.#options;
    const { page } = credentials;
    if (!page) throw new Error("the console is served over HTTP only");
    origin.requireOwnPage(page);
    const client = { ...clients.of(credentials), userAgent: page.userAgent ?? "" };
    const form = origin.cookie;
    const token = form && requirement !== "none" ? tokenFromCookie(page.cookie, form) : undefined;
    const signedIn = token === undefined ? undefined : await this.#find(token, client);
    if (!signedIn) {
      if (requirement === "required")
        throw new ToolgateError("UNAUTHORIZED", "not signed in, or the session has ended; sign in");
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
