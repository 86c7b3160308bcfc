/** Repeatable random numbers (sfc32 by Chris Doty-Humphrey, seeded with FNV-1a). */
export class Dice {
  readonly #seed: string;
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: string) {
    this.#seed = seed;
    [this.#a, this.#b, this.#c] = [hash(`${seed}/a`), hash(`${seed}/b`), hash(`${seed}/c`)];
    for (let round = 0; round < 12; round++) this.next();
  }

  /** An independent generator for one part of the run, unaffected by the draws of others. */
  fork(name: string): Dice {
    return new Dice(`${this.#seed}/${name}`);
  }

  /** 0 <= x < 1 */
  next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter++) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
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

  shuffle<Item>(items: readonly Item[]): Item[] {
    const rest = [...items];
    return items.map(() => {
      const [item] = rest.splice(this.between(0, rest.length - 1), 1);
      if (item === undefined) throw new Error("an item was taken twice");
      return item;
    });
  }
}

function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const character of text) value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return value | 0;
}
