import { setImmediate } from "node:timers/promises";
import { ToolgateError } from "../domain/errors.ts";

/** An answer that is none yet: the item goes into the next batch. */
export const AGAIN = Symbol("again");

/** Batches that an item goes through at most: each time somebody else got ahead of it, so it is hardly ever two. */
const MAX_TURNS = 50;

/** How batches are made and run. */
export interface BatcherOptions<Item, Answer> {
  /** Items in a batch at most. */
  max: number;
  /** What an item must have to itself: two items that share a key never share a batch. */
  keys?: (item: Item) => readonly string[];
  /**
   * Does a batch; one answer per item, in order.
   * @throws ToolgateError, which all items get; after any other error, with which nothing may have happened, each item is tried alone
   */
  run: (items: readonly Item[]) => Promise<readonly (Answer | typeof AGAIN)[]>;
}

interface Waiting<Item, Answer> {
  item: Item;
  keys: readonly string[];
  /** How many batches it has been through. */
  turns: number;
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
}

/**
 * Group commit that clocks itself: what arrives while a batch is in flight forms the next one. A lone item goes at once, and
 * batches grow with the load, without a timer.
 */
export class Batcher<Item, Answer> {
  readonly #options: BatcherOptions<Item, Answer>;
  #queue: Waiting<Item, Answer>[] = [];
  #busy = false;

  constructor(options: BatcherOptions<Item, Answer>) {
    this.#options = options;
  }

  submit(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, keys: this.#options.keys?.(item) ?? [], turns: 0, resolve, reject });
      if (!this.#busy) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#busy = true;
    // Let the calls that arrived in the same turn of the event loop go together.
    await setImmediate();
    while (this.#queue.length > 0) await this.#runBatch(this.#take());
    this.#busy = false;
  }

  /** The next batch, in order of arrival; what shares a key with an earlier item waits, and so does what shares one with that. */
  #take(): Waiting<Item, Answer>[] {
    const taken: Waiting<Item, Answer>[] = [];
    const left: Waiting<Item, Answer>[] = [];
    const keys = new Set<string>();
    for (const waiting of this.#queue) {
      const goes = taken.length < this.#options.max && !waiting.keys.some((key) => keys.has(key));
      (goes ? taken : left).push(waiting);
      for (const key of waiting.keys) keys.add(key);
    }
    this.#queue = left;
    return taken;
  }

  async #runBatch(batch: readonly Waiting<Item, Answer>[]): Promise<void> {
    try {
      const answers = await this.#options.run(batch.map(({ item }) => item));
      const again: Waiting<Item, Answer>[] = [];
      for (const [index, waiting] of batch.entries()) {
        const answer = answers[index];
        if (answer === AGAIN && ++waiting.turns < MAX_TURNS) again.push(waiting);
        else if (answer === AGAIN)
          waiting.reject(
            new ToolgateError("UNAVAILABLE", "too many like calls at once; repeat it", { retryAfterSeconds: 1 }),
          );
        else if (answer === undefined) waiting.reject(new Error("a batch left an item without an answer"));
        else waiting.resolve(answer);
      }
      this.#queue.unshift(...again);
    } catch (error) {
      if (batch.length === 1 || error instanceof ToolgateError) {
        for (const { reject } of batch) reject(error);
        return;
      }
      // One bad item must not fail its neighbours.
      for (const waiting of batch) await this.#runBatch([waiting]);
    }
  }
}
