import type { Market } from "./market.ts";
import type { Dice } from "./random.ts";
import { SCENARIOS } from "./scenarios.ts";

interface LoadOptions {
  /** Concurrent customers. */
  readonly customers: number;
  /** Maximum scenarios; default: no limit. */
  readonly most?: number;
  readonly dice: Dice;
}

/** Concurrent customers, each running one scenario after the other. */
export class Load {
  readonly #market: Market;
  readonly #most: number;
  readonly #customers: readonly Dice[];
  #playing: Promise<unknown> = Promise.resolve();
  #open = false;

  constructor(market: Market, { customers, most = Number.POSITIVE_INFINITY, dice }: LoadOptions) {
    this.#market = market;
    this.#most = most;
    this.#customers = Array.from({ length: customers }, (_, index) => dice.fork(`customer ${index}`));
  }

  /** Whether all scenarios have run. */
  get done(): boolean {
    return this.#market.tally.counts.calls >= this.#most;
  }

  begin(): void {
    this.#open = true;
    this.#playing = Promise.all(this.#customers.map((dice) => this.#playOn(dice)));
    // drain() reports the error.
    this.#playing.catch(() => {});
  }

  /** Starts no new scenarios and waits for the running ones. */
  async drain(): Promise<void> {
    this.#open = false;
    await this.#playing;
  }

  async #playOn(dice: Dice): Promise<void> {
    while (this.#open && !this.done) {
      this.#market.tally.count("calls");
      const due = this.#market.due();
      await (due ? due() : dice.draw(SCENARIOS).play(this.#market, dice));
    }
  }
}
