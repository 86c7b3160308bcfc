import { createHash } from "node:crypto";
import type { Sessions, SignedIn } from "../../app/session-ports.ts";
import type { Clock } from "../../domain/clock.ts";
import { ToolgateError } from "../../domain/errors.ts";
import { Lru } from "../../domain/lru.ts";
import type { RateTier } from "../../domain/rate-limit.ts";
import { RateLimitedError } from "../key-authenticator.ts";
import { Buckets } from "../token-buckets.ts";
import type { Admission, Arrival, Gate, Visitor } from "../authentication.ts";
import { clientAddress, networkOf } from "../remote-address.ts";
import type { Endpoint } from "../services/service-impl.ts";
import type { ConsolePlace } from "./console-origin.ts";
import { tokenIn } from "./cookie.ts";

/** Requests of one session, for each instance. */
export const SESSION_RATE: RateTier = { ratePerMinute: 600, burst: 100 };

/** Cookies without a session that an address may send: those of sessions that ended come by themselves. */
export const BAD_COOKIES: RateTier = { ratePerMinute: 60, burst: 120 };

/** Sessions at most that are remembered as good ones. */
const PROVEN = 10_000;

/** What the gate needs. */
export interface SessionGateOptions {
  readonly sessions: Pick<Sessions, "find">;
  readonly place: ConsolePlace;
  readonly clock: Clock;
  /** How many proxies stand before this server and append to X-Forwarded-For. */
  readonly trustedProxies: number;
}

/**
 * The console's gate: a session's cookie, shown by a page of the console's own. API keys open nothing here; an Authorization header is
 * not looked at, since a proxy may ask for one of its own. Each session is looked for each time, so one that was ended is gone at once.
 */
export class SessionGate implements Gate {
  readonly #options: SessionGateOptions;
  readonly #rates: Buckets;
  readonly #bad: Buckets;
  /** Hashes of tokens that were good when they were last sent: those are no guesses, wherever they come from. */
  readonly #proven = new Lru<string, true>(PROVEN);

  constructor(options: SessionGateOptions) {
    this.#options = options;
    this.#rates = new Buckets(options.clock, SESSION_RATE);
    this.#bad = new Buckets(options.clock, BAD_COOKIES);
  }

  async admit(demand: Endpoint["key"], arrival: Arrival): Promise<Admission> {
    const { place, trustedProxies } = this.#options;
    const { page } = arrival;
    if (!page) throw new Error("the console is served over HTTP alone");
    place.demandOwn(page);
    const address = clientAddress(arrival, trustedProxies);
    const visitor = { address, network: networkOf(address), userAgent: page.userAgent ?? "" };
    const form = place.cookie;
    const token = form && demand !== "none" ? tokenIn(page.cookie, form) : undefined;
    const signedIn = token === undefined ? undefined : await this.#find(token, visitor);
    if (!signedIn) {
      if (demand === "required")
        throw new ToolgateError("UNAUTHORIZED", "nobody is signed in, or no longer; sign in");
      return { caller: undefined, rate: undefined, visitor };
    }
    const rate = this.#rates.take(signedIn.caller.keyId);
    if (!rate.allowed) throw new RateLimitedError(rate, "requests of one session");
    return { caller: signedIn.caller, rate, visitor };
  }

  async #find(token: string, { network }: Visitor): Promise<SignedIn | undefined> {
    const hash = createHash("sha256").update(token).digest("base64");
    const refusal = this.#bad.refusal(network);
    if (refusal && !this.#proven.get(hash))
      throw new RateLimitedError(refusal, "unknown sessions from your address");
    const signedIn = await this.#options.sessions.find(token);
    if (signedIn) {
      this.#proven.set(hash, true);
    } else {
      this.#proven.delete(hash);
      this.#bad.count(network);
    }
    return signedIn;
  }
}
