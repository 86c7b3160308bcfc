import type { Clock } from "../domain/clock.ts";
import type { RateDecision, RateTier } from "../domain/rate-limit.ts";
import { Buckets } from "./buckets.ts";
import { clientAddress, networkOf, type Origin } from "./remote-address.ts";

/** Bad keys that an address may send: so many at once, and so many a minute in the long run. */
export const BAD_KEYS: RateTier = { ratePerMinute: 10, burst: 20 };

/** What the limit needs. */
export interface AddressLimitOptions {
  readonly clock: Clock;
  /** How many proxies stand before this server and append to X-Forwarded-For; default 0. */
  readonly trustedProxies?: number;
}

/**
 * Counts the bad API keys that each address sends, in the memory of this instance. Guessing a key of 256 random bits is hopeless at
 * any rate; what is limited is the work that guesses make for the database.
 */
export class AddressLimit {
  readonly #bad: Buckets;
  readonly #trustedProxies: number;

  constructor({ clock, trustedProxies = 0 }: AddressLimitOptions) {
    this.#bad = new Buckets(clock, BAD_KEYS);
    this.#trustedProxies = trustedProxies;
  }

  /** The client's network, which is what bad keys are counted by. */
  networkOf(origin: Origin): string {
    return networkOf(clientAddress(origin, this.#trustedProxies));
  }

  /** The refusal of a network that has sent too many bad keys; undefined: it may try. */
  refusal(network: string): RateDecision | undefined {
    return this.#bad.refusal(network);
  }

  /** Counts a bad key. */
  count(network: string): void {
    this.#bad.count(network);
  }
}
