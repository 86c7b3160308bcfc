import { setTimeout as sleep } from "node:timers/promises";
import type { Buyer } from "../lab-kit/buyer.ts";

/** Interval between two calls to the same gateway, ms: the precision of the pauses. */
const EVERY_MS = 300;

/** How long a call waits for its answer before it is repeated elsewhere, ms. */
const WAIT_MS = 10_000;

interface Gateway {
  /** Times of the last sale and of the latest call that was sold, monotonic ms. */
  soldAt: number;
  sentAt: number;
  longestMs: number;
}

/** Calls each gateway at an interval, and measures how long it sells nothing. */
export class Probes {
  readonly #buyer: Buyer;
  readonly #gateways: Gateway[];
  readonly #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  /** @param gateways their number */
  constructor(buyer: Buyer, gateways: number) {
    this.#buyer = buyer;
    this.#gateways = Array.from({ length: gateways }, () => ({ soldAt: 0, sentAt: 0, longestMs: 0 }));
  }

  start(): void {
    this.#running = Promise.all(this.#gateways.map((gateway, at) => this.#callOn(gateway, at)));
    this.#running.catch(() => {});
  }

  /** Measures from now on. */
  strike(): void {
    const soldAt = performance.now();
    for (const gateway of this.#gateways) Object.assign(gateway, { soldAt, longestMs: 0 });
  }

  /** Whether every gateway has sold a call that was sent after that time, monotonic ms. */
  soldSince(time: number): boolean {
    return this.#gateways.every(({ sentAt }) => sentAt > time);
  }

  /** The longest time that a gateway has sold nothing since the strike, ms. */
  get longestMs(): number {
    return Math.max(...this.#gateways.map(({ longestMs }) => longestMs));
  }

  /** Makes no new calls and waits for the outcome of the others. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #callOn(gateway: Gateway, at: number): Promise<void> {
    const calls: Promise<void>[] = [];
    while (!this.#stop.signal.aborted) {
      calls.push(this.#call(gateway, at));
      await sleep(EVERY_MS, undefined, { signal: this.#stop.signal }).catch(() => {});
    }
    await Promise.all(calls);
  }

  async #call(gateway: Gateway, at: number): Promise<void> {
    const sentAt = performance.now();
    const call = this.#buyer.market.keyed();
    const reply = await this.#buyer.once(call, WAIT_MS, at);
    if (reply?.status !== 200) return this.#buyer.buys(call);
    const now = performance.now();
    gateway.longestMs = Math.max(gateway.longestMs, now - gateway.soldAt);
    gateway.soldAt = now;
    gateway.sentAt = Math.max(sentAt, gateway.sentAt);
  }
}
