import { createHash } from "node:crypto";

/** Repeatable random numbers (mulberry32 by Tommy Ettinger). */
export class Dice {
  readonly #seed: string;
  #state: number;

  constructor(seed: string) {
    this.#seed = seed;
    this.#state = createHash("sha256").update(seed).digest().readInt32LE();
  }

  /** An independent generator for one part of the run, unaffected by the draws of others. */
  fork(name: string): Dice {
    return new Dice(`${this.#seed}/${name}`);
  }

  /** 0 <= x < 1 */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer from `least` to `most`, inclusive. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.between(0, items.length - 1)];
    if (item === undefined) throw new Error("there is nothing to pick from");
    return item;
  }

  /** Picks by weight. */
  draw<Item extends { readonly weight: number }>(items: readonly Item[]): Item {
    let left = this.next() * items.reduce((sum, { weight }) => sum + weight, 0);
    return items.find(({ weight }) => (left -= weight) < 0) ?? this.pick(items);
  }

  shuffle<Item>(items: readonly Item[]): Item[] {
    return items
      .map((item) => ({ item, at: this.next() }))
      .sort((one, other) => one.at - other.at)
      .map(({ item }) => item);
  }
}
