import { setTimeout as sleep } from "node:timers/promises";
import { STAND_IN_MODEL } from "../../src/dev/inference-stand-in/answer.ts";
import { Buyer } from "./buyer.ts";
import type { Call } from "./client.ts";
import type { Customer, Ground } from "./ground.ts";
import type { Dice } from "./random.ts";
import { Reference } from "./reference.ts";
import type { Tally } from "./tally.ts";

/** Maximum time until a call must be decided, ms, despite all faults; the default. */
const PATIENCE_MS = 120_000;

/** Initial balance of `rich` and `careless` customers, micro-USD. */
const OPENING = 1_000_000_000n;

/** Customers with accounts. */
interface Cast {
  /** Have a sufficient balance. */
  readonly rich: readonly Customer[];
  /** Start with nothing and pay on-chain. */
  readonly payers: readonly Customer[];
  /** Have a balance and call without a key. */
  readonly careless: readonly Customer[];
}

interface MarketOptions {
  readonly tally: Tally;
  /** URLs of the gateways; undefined: it is down. */
  readonly targets: () => readonly (string | undefined)[];
  readonly patienceMs?: number;
}

/** The customers of the gateways, and what they expect. */
export class Market {
  readonly ground: Ground;
  readonly tally: Tally;
  readonly targets: MarketOptions["targets"];
  readonly patienceMs: number;
  readonly cast: Cast;
  readonly reference = new Reference();
  #keys = "k";
  #lastNumber = 0;
  #later: { readonly due: number; readonly act: () => Promise<unknown> }[] = [];

  private constructor(
    ground: Ground,
    { tally, targets, patienceMs = PATIENCE_MS }: MarketOptions,
    cast: Cast,
  ) {
    this.ground = ground;
    this.tally = tally;
    this.targets = targets;
    this.patienceMs = patienceMs;
    this.cast = cast;
    for (const customer of Object.values(cast).flat()) this.reference.open(customer);
  }

  /** Opens the accounts of the customers. */
  static async open(ground: Ground, options: MarketOptions): Promise<Market> {
    const customers = (count: number, opening: bigint) =>
      Promise.all(Array.from({ length: count }, () => ground.customer(opening)));
    return new Market(ground, options, {
      rich: await customers(8, OPENING),
      payers: await customers(8, 0n),
      careless: await customers(2, OPENING),
    });
  }

  /** Uses new keys and drops scheduled tasks, after a restore to an earlier time. */
  restart(): void {
    this.#keys = `after-${this.number()}`;
    this.#later = [];
  }

  /** One of those customers. */
  any(kind: keyof Cast, dice: Dice): Buyer {
    return new Buyer(this, dice.pick(this.cast[kind]), dice);
  }

  /** A customer with an account of its own. */
  async newcomer(dice: Dice): Promise<Buyer> {
    for (;;) {
      const customer = await this.ground.customer(0n).catch(() => sleep(500));
      if (!customer) continue; // The database is down.
      this.reference.open(customer);
      return new Buyer(this, customer, dice);
    }
  }

  /** A number unique within the run. */
  number(): number {
    return ++this.#lastNumber;
  }

  key(): string {
    return `${this.#keys}-${this.number()}`;
  }

  /** A unique paid call, recognisable by its result. */
  estimate(): Call {
    const params = { model: "llama-3.1-8b", context_length: 1 + (this.number() % 131_072) };
    return { tool: "vram_estimate", params };
  }

  /** The same, under a key. */
  keyed(): Call {
    return { ...this.estimate(), key: this.key() };
  }

  /** A unique chat under a key, recognisable by its answer. @param server what the model's server does */
  chat(openai?: "whole" | "streamed", server: "answers" | "breaks off" = "answers"): Call {
    const messages = [{ role: "user", content: `chat ${this.number()} ${server}` }];
    const params = { model: STAND_IN_MODEL.id, messages, max_tokens: 60 };
    return { tool: "inference_chat", params, key: this.key(), openai };
  }

  /** Schedules a task; one that is not due at the end is dropped. */
  later(ms: number, act: () => Promise<unknown>): void {
    this.#later.push({ due: performance.now() + ms, act });
  }

  /** Takes a due task. */
  due(): (() => Promise<unknown>) | undefined {
    const index = this.#later.findIndex(({ due }) => due < performance.now());
    return index < 0 ? undefined : this.#later.splice(index, 1)[0]?.act;
  }

  /** Removes a payment from the chain unless it may be finalized. */
  drop(tx: string): void {
    if (!this.ground.drop(tx)) return;
    this.reference.payment(tx).dropped = true;
    this.tally.count("forks");
  }
}
