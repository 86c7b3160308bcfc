import { setTimeout as sleep } from "node:timers/promises";
import type { Customer } from "../faults/environment.ts";
import type { Market } from "../faults/market.ts";
import { buys } from "../faults/purchases.ts";
import type { Dice } from "../faults/seeded-random.ts";

/** Interval between two calls to the same gateway, ms: the precision of the pauses. */
const EVERY_MS = 300;

/** How long a call waits for its answer before it is repeated elsewhere, ms. */
const WAIT_MS = 10_000;

/** Calls each gateway at an interval, and measures how long it sells nothing. */
export class Probes {
  readonly #market: Market;
  readonly #customer: Customer;
  readonly #dice: Dice;
  readonly #gateways: { soldAt: number; sentAt: number; longestMs: number }[];
  readonly #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  /** @param gateways their number */
  constructor(market: Market, customer: Customer, dice: Dice, gateways: number) {
    this.#market = market;
    this.#customer = customer;
    this.#dice = dice;
    this.#gateways = Array.from({ length: gateways }, () => ({ soldAt: 0, sentAt: 0, longestMs: 0 }));
  }

  start(): void {
    this.#running = Promise.all(this.#gateways.map((_, at) => this.#callOn(at)));
    this.#running.catch(() => {});
  }

  /** Measures from now on. */
  strike(): void {
    const now = performance.now();
    for (const gateway of this.#gateways) Object.assign(gateway, { soldAt: now, longestMs: 0 });
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

  async #callOn(at: number): Promise<void> {
    const calls: Promise<void>[] = [];
    while (!this.#stop.signal.aborted) {
      calls.push(this.#call(at));
      await sleep(EVERY_MS, undefined, { signal: this.#stop.signal }).catch(() => {});
    }
    await Promise.all(calls);
  }

  async #call(at: number): Promise<void> {
    const sentAt = performance.now();
    const call = { ...this.#market.estimate(), key: this.#market.key() };
    const reply = await this.#market.once(this.#dice, this.#customer, call, WAIT_MS, at);
    const gateway = this.#gateways[at];
    if (reply?.status === 200 && gateway) {
      const now = performance.now();
      const longestMs = Math.max(gateway.longestMs, now - gateway.soldAt);
      Object.assign(gateway, { soldAt: now, sentAt: Math.max(sentAt, gateway.sentAt), longestMs });
    } else {
      await buys(this.#market, this.#dice, this.#customer, call);
    }
  }
}
