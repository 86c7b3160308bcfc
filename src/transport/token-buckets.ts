import { isIPv4 } from "node:net";
import type { Clock } from "../domain/core/clock.ts";
import { Lru } from "../domain/core/lru.ts";
import type { RateDecision, RateTier } from "../domain/accounts/caller.ts";

/** Evicts the least recently used bucket above this number. */
const MAX_BUCKETS = 10_000;

const NETWORKS_PER_SITE = 8;

/** In-memory token buckets per instance, by the generic cell rate algorithm (ITU-T I.371). */
export class TokenBuckets {
  readonly #clock: Clock;
  readonly #tier: RateTier;
  /** By key: when the bucket is full again, ms. */
  readonly #fullAt = new Lru<string, number>(MAX_BUCKETS);
  /** Of IPv6 /48 networks: one has 65,536 /64 networks, often all of one customer. Of IPv4 /24 too. */
  readonly #sites: TokenBuckets | undefined;
  readonly #debtMs: number;
  readonly #ipv4Sites: boolean;

  /**
   * @param sites whether /64 networks of a /48 share a bucket of {@link NETWORKS_PER_SITE} times the size
   * @param ipv4Sites whether the addresses of an IPv4 /24 do too
   * @param debtMs how long an empty bucket may take to reach zero
   */
  constructor(clock: Clock, tier: RateTier, { sites = true, ipv4Sites = false, debtMs = 0 } = {}) {
    this.#clock = clock;
    this.#tier = tier;
    this.#debtMs = debtMs;
    this.#ipv4Sites = ipv4Sites;
    const { ratePerMinute, burst } = tier;
    const whole = { ratePerMinute: ratePerMinute * NETWORKS_PER_SITE, burst: burst * NETWORKS_PER_SITE };
    if (sites) this.#sites = new TokenBuckets(clock, whole, { sites: false, debtMs });
  }

  /** Refill interval, ms. */
  get #intervalMs(): number {
    return 60_000 / this.#tier.ratePerMinute;
  }

  /** Returns the refusal when a bucket is empty, otherwise undefined. */
  refusal(name: string): RateDecision | undefined {
    const site = this.#siteOf(name);
    const refused = site === undefined ? undefined : this.#sites?.refusal(site);
    if (refused) return refused;
    const fullAt = this.#fullAt.get(name);
    // Twice in each request.
    if (fullAt === undefined || fullAt - (this.#tier.burst - 1) * this.#intervalMs <= this.#clock.now())
      return undefined;
    const decision = this.#decision(name);
    return decision.allowed ? undefined : decision;
  }

  /** Takes tokens. An empty bucket goes below zero by its debt at most. */
  count(name: string, tokens = 1): void {
    const site = this.#siteOf(name);
    if (site !== undefined) this.#sites?.count(site, tokens);
    const now = this.#clock.now();
    const fullAt = this.#current(name, now) + tokens * this.#intervalMs;
    this.#fullAt.set(name, Math.min(fullAt, this.#latest(now)));
  }

  /** Returns tokens to the bucket, at most until it is full. */
  giveBack(name: string, tokens: number): void {
    const site = this.#siteOf(name);
    if (site !== undefined) this.#sites?.giveBack(site, tokens);
    const fullAt = this.#fullAt.get(name);
    if (fullAt !== undefined) this.#fullAt.set(name, fullAt - tokens * this.#intervalMs);
  }

  take(name: string): RateDecision {
    const refusal = this.refusal(name);
    if (refusal) return refusal;
    this.count(name);
    return { ...this.#decision(name), allowed: true, retryAfterSeconds: 0 };
  }

  #decision(name: string): RateDecision {
    const { burst, ratePerMinute } = this.#tier;
    const now = this.#clock.now();
    const fullAt = this.#current(name, now);
    const remaining = Math.floor((now + burst * this.#intervalMs - fullAt) / this.#intervalMs);
    const waitMs = fullAt + this.#intervalMs - burst * this.#intervalMs - now;
    return {
      allowed: waitMs <= 0,
      limit: ratePerMinute,
      remaining: Math.max(0, remaining),
      resetAt: Math.ceil(fullAt / 1000),
      retryAfterSeconds: Math.max(0, Math.ceil(waitMs / 1000)),
    };
  }

  /** Returns the /48 of a /64 as networkOf writes it, or the /24 of an IPv4 address. */
  #siteOf(name: string): string | undefined {
    if (name.endsWith("::/64")) return `${name.split(":").slice(0, 3).join(":")}::/48`;
    return this.#ipv4Sites && isIPv4(name) ? `${name.replace(/\d+$/, "0")}/24` : undefined;
  }

  /** When the bucket is full again; bounded, in case the clock was set back. */
  #current(name: string, now: number): number {
    const fullAt = Math.max(this.#fullAt.get(name) ?? now, now);
    const latest = this.#latest(now);
    if (fullAt <= latest) return fullAt;
    this.#fullAt.set(name, latest);
    return latest;
  }

  #latest(now: number): number {
    return now + this.#tier.burst * this.#intervalMs + this.#debtMs;
  }
}
