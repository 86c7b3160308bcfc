import type { Clock } from "../domain/clock.ts";
import { Lru } from "../domain/lru.ts";
import type { RateDecision, RateTier } from "../domain/rate-limit.ts";
import { clientAddress, networkOf, type Origin } from "./remote-address.ts";

/** Bad keys that an address may send: so many at once, and so many a minute in the long run. */
export const BAD_KEYS: RateTier = { ratePerMinute: 10, burst: 20 };

/** Addresses that are remembered at most; those that sent a bad key least recently are forgotten. */
const MOST = 10_000;

/** What the limit needs. */
export interface AddressLimitOptions {
  readonly clock: Clock;
  /** How many proxies stand before this server and append to X-Forwarded-For; default 0. */
  readonly trustedProxies?: number;
}

/**
 * Counts the bad API keys that each address sends, in the memory of this instance: the generic cell rate algorithm (ITU-T I.371), as
 * for keys. Guessing a key of 256 random bits is hopeless at any rate; what is limited is the work that guesses make for the database.
 */
export class AddressLimit {
  readonly #clock: Clock;
  readonly #trustedProxies: number;
  /** By network: when its bucket is full again, ms. */
  readonly #fullAt = new Lru<string, number>(MOST);

  constructor({ clock, trustedProxies = 0 }: AddressLimitOptions) {
    this.#clock = clock;
    this.#trustedProxies = trustedProxies;
  }

  /** The client's network, which is what bad keys are counted by. */
  networkOf(origin: Origin): string {
    return networkOf(clientAddress(origin, this.#trustedProxies));
  }

  /** The refusal of a network that has sent too many bad keys; undefined: it may try. */
  refusal(network: string): RateDecision | undefined {
    const { burst, ratePerMinute } = BAD_KEYS;
    const now = this.#clock.now();
    const fullAt = this.#current(network, now);
    const waitMs = fullAt + INTERVAL_MS - burst * INTERVAL_MS - now;
    if (waitMs <= 0) return undefined;
    const [resetAt, retryAfterSeconds] = [Math.ceil(fullAt / 1000), Math.ceil(waitMs / 1000)];
    return { allowed: false, limit: ratePerMinute, remaining: 0, resetAt, retryAfterSeconds };
  }

  /** Counts a bad key. However many come at once, an empty bucket is just empty: an interval later the next may be tried. */
  count(network: string): void {
    const now = this.#clock.now();
    const fullAt = this.#current(network, now) + INTERVAL_MS;
    this.#fullAt.set(network, Math.min(fullAt, now + BAD_KEYS.burst * INTERVAL_MS));
  }

  /** When the bucket is full again: never later than an empty one takes to fill, even where the clock was set back. */
  #current(network: string, now: number): number {
    const fullAt = Math.max(this.#fullAt.get(network) ?? now, now);
    const latest = now + BAD_KEYS.burst * INTERVAL_MS;
    if (fullAt <= latest) return fullAt;
    this.#fullAt.set(network, latest);
    return latest;
  }
}

/** How long one bad key takes to be forgiven, ms. */
const INTERVAL_MS = 60_000 / BAD_KEYS.ratePerMinute;
