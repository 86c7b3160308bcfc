import type { Dice } from "./seeded-random.ts";
import type { Market } from "./market.ts";
import type { Cast, Scenario } from "./purchases.ts";
import { SCENARIOS } from "./scenarios.ts";

/** Concurrent customers, each running one scenario after the other. */
export class Load {
  readonly #market: Market;
  readonly #cast: Cast;
  readonly #most: number;
  readonly #customers: readonly Dice[];
  #playing: Promise<unknown> = Promise.resolve();
  #open = false;

  /** @param most maximum scenarios */
  constructor(market: Market, cast: Cast, options: { customers: number; most: number; dice: Dice }) {
    this.#market = market;
    this.#cast = cast;
    this.#most = options.most;
    this.#customers = Array.from({ length: options.customers }, (_, index) =>
      options.dice.fork(`customer ${index}`),
    );
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
      await draw(dice).play(this.#market, this.#cast, dice);
    }
  }
}

const WEIGHT = SCENARIOS.reduce((sum, { weight }) => sum + weight, 0);

function draw(dice: Dice): Scenario {
  let left = dice.next() * WEIGHT;
  for (const scenario of SCENARIOS) {
    left -= scenario.weight;
    if (left < 0) return scenario;
  }
  return dice.pick(SCENARIOS);
}
