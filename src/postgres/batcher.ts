import { setImmediate } from "node:timers/promises";
import { ToolgateError } from "../domain/errors.ts";
import { loopTime } from "../loop-time.ts";
import { DatabaseUnavailableError, DatabaseBusyError } from "./database-errors.ts";

/** An answer that is none yet: the item goes into the next batch. */
export const RETRY = Symbol("again");

/** Batches that an item goes through at most: each time somebody else got ahead of it, so it is hardly ever two. */
const MAX_ATTEMPTS = 50;

/** How often an item that was alone in its batch and found the database busy is tried again. */
const MAX_BUSY = 3;

/** Items that wait at most: what comes after them would wait for seconds, and take the memory of those that can be answered. */
const MAX_QUEUE = 10_000;

/** Items of a batch that failed which are tried at once, each alone: what blocks one of them must not hold up the others. */
const PARALLEL_SINGLES = 4;

/** Turns of the event loop at most in which a batch may grow before it goes: many short turns must not hold up its first item. */
const MAX_GATHER_TURNS = 8;

/**
 * So many items that wait, or more, are shared by the lanes that are free. All in one batch they would be answered together and come back
 * together, and the database would have nothing to do while they are.
 */
const SPLIT_THRESHOLD = 32;

/** Items that are due this soon are turned away together, ms: for each the database would be asked once more. */
const DEADLINE_SLACK_MS = 100;

/** How batches are made and run. */
export interface BatcherOptions<Item, Answer> {
  /** Items in a batch at most. */
  max: number;
  /** What an item must have to itself: two items that share a key never share a batch. */
  keys?: (item: Item) => readonly string[];
  /** Batches under way at once at most; default 1. While one waits for the disk, another one works. */
  lanes?: number;
  /** What only one batch under way may have to do with: two of them would only wait for each other in the database. */
  lane?: (item: Item) => string;
  /** How long an item waits for a database that is away, ms, from its arrival; default 0. */
  retryMs?: number;
  /**
   * Does a batch, and waits for the database for `forMs`; one answer per item, in order.
   * @throws DatabaseAwayError, which the items get that have waited for as long as they may, in whatever batch; the others are tried
   * again. After any other error, with which nothing may have happened, each item is tried alone
   */
  run: (items: readonly Item[], forMs: number) => Promise<readonly (Answer | typeof RETRY)[]>;
}

interface Pending<Item, Answer> {
  item: Item;
  keys: readonly string[];
  lane: string | undefined;
  /** When it is turned away if the database is away, by {@link loopTime}. */
  deadline: number;
  /** How many batches it has been through. */
  attempts: number;
  /** How often it was alone and found the database busy. */
  busyErrors: number;
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
}

/**
 * Group commit that clocks itself: what arrives while a batch is in flight forms the next one. A lone item goes at once, and
 * batches grow with the load, without a timer.
 */
export class Batcher<Item, Answer> {
  readonly #options: BatcherOptions<Item, Answer>;
  #queue: Pending<Item, Answer>[] = [];
  /** Of each batch that failed, what is to be tried alone: apart, as a lane is free again only when all that was in it is answered. */
  readonly #alone = new Set<Pending<Item, Answer>[]>();
  /** Lanes that work or wait for their turn. */
  #active = 0;
  /** Whether one of them waits for its turn, and takes whatever comes before it. */
  #gathering = false;
  /** The lanes' own, of all batches under way. */
  readonly #taken = new Set<string>();

  constructor(options: BatcherOptions<Item, Answer>) {
    this.#options = options;
  }

  /** @throws ToolgateError UNAVAILABLE when too many wait already */
  submit(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#queue.length >= MAX_QUEUE) {
        reject(
          new ToolgateError("UNAVAILABLE", "too many calls at once; repeat it", { retryAfterSeconds: 1 }),
        );
        return;
      }
      const { keys, lane, retryMs: patienceMs = 0 } = this.#options;
      const until = loopTime() + patienceMs;
      this.#queue.push({
        item,
        keys: keys?.(item) ?? [],
        lane: lane?.(item),
        deadline: until,
        attempts: 0,
        busyErrors: 0,
        resolve,
        reject,
      });
      this.#open();
    });
  }

  /** Has one more lane take what waits, if there may be one. */
  #open(): void {
    if (!this.#gathering && this.#active < (this.#options.lanes ?? 1)) void this.#drain();
  }

  async #drain(): Promise<void> {
    this.#active++;
    while (!this.#gathering && this.#queue.length > 0) {
      this.#gathering = true;
      await this.#gather();
      this.#gathering = false;
      const batch = this.#take(this.#share());
      // What is left waits for a batch under way, whose lane takes it afterwards.
      if (batch.length === 0) break;
      if (this.#queue.length > 0) this.#open();
      await this.#runApart(batch);
    }
    this.#active--;
  }

  /** Waits while each turn of the event loop brings more: what arrives together goes together. A lone item waits for one turn. */
  async #gather(): Promise<void> {
    for (let turn = 0, before = -1; turn < MAX_GATHER_TURNS && this.#queue.length > before; turn++) {
      before = this.#queue.length;
      await setImmediate();
    }
  }

  /** How many items the next batch has at most. */
  #share(): number {
    const { max, lanes = 1 } = this.#options;
    const waiting = this.#queue.length;
    return waiting < SPLIT_THRESHOLD ? max : Math.min(max, Math.ceil(waiting / (lanes - this.#active + 1)));
  }

  async #runApart(batch: readonly Pending<Item, Answer>[]): Promise<void> {
    const lanes = new Set(batch.flatMap(({ lane }) => lane ?? []));
    for (const lane of lanes) this.#taken.add(lane);
    await this.#runBatch(batch);
    for (const lane of lanes) this.#taken.delete(lane);
  }

  /**
   * The next batch, in order of arrival; what shares a key with an earlier item waits, and so does what shares one with that. What has to
   * do with a batch under way waits too, and has nobody wait for its keys: there may be thousands of one lane, passed over each time.
   */
  #take(most: number): Pending<Item, Answer>[] {
    const taken: Pending<Item, Answer>[] = [];
    const left: Pending<Item, Answer>[] = [];
    const keys = new Set<string>();
    for (const waiting of this.#queue) {
      if (waiting.lane !== undefined && this.#taken.has(waiting.lane)) {
        left.push(waiting);
        continue;
      }
      const goes = taken.length < most && !waiting.keys.some((key) => keys.has(key));
      (goes ? taken : left).push(waiting);
      for (const key of waiting.keys) keys.add(key);
    }
    this.#queue = left;
    return taken;
  }

  async #runBatch(batch: readonly Pending<Item, Answer>[]): Promise<void> {
    try {
      const forMs = Math.max(0, Math.min(...batch.map(({ deadline: until }) => until)) - loopTime());
      const items = batch.map(({ item }) => item);
      const answers = await this.#options.run(items, forMs);
      const again: Pending<Item, Answer>[] = [];
      for (const [index, waiting] of batch.entries()) {
        const answer = answers[index];
        if (answer === RETRY && ++waiting.attempts < MAX_ATTEMPTS) again.push(waiting);
        else if (answer === RETRY)
          waiting.reject(
            new ToolgateError("UNAVAILABLE", "too many like calls at once; repeat it", {
              retryAfterSeconds: 1,
            }),
          );
        else if (answer === undefined) waiting.reject(new Error("a batch left an item without an answer"));
        else waiting.resolve(answer);
      }
      this.#queue.unshift(...again);
    } catch (error) {
      await this.#recover(batch, error);
    }
  }

  async #recover(batch: readonly Pending<Item, Answer>[], error: unknown): Promise<void> {
    if (error instanceof DatabaseUnavailableError) {
      this.#turnAway(batch, error);
      return;
    }
    const [only, ...others] = batch;
    if (only && others.length === 0) {
      if (error instanceof DatabaseBusyError && ++only.busyErrors < MAX_BUSY) this.#queue.push(only);
      else only.reject(error);
      return;
    }
    // One bad item must not fail its neighbours.
    const alone = [...batch];
    this.#alone.add(alone);
    await Promise.all(Array.from({ length: PARALLEL_SINGLES }, () => this.#runAlone(alone)));
    this.#alone.delete(alone);
  }

  /** Rejects what has waited for as long as it may; the others wait on. */
  #turnAway(batch: readonly Pending<Item, Answer>[], error: DatabaseUnavailableError): void {
    const alone = [...this.#alone].flatMap((waiting) => waiting.splice(0));
    const due = loopTime() + DEADLINE_SLACK_MS;
    const waiting = [...batch, ...alone, ...this.#queue];
    this.#queue = waiting.filter(({ deadline: until }) => until > due);
    for (const { deadline: until, reject } of waiting) if (until <= due) reject(error);
  }

  async #runAlone(alone: Pending<Item, Answer>[]): Promise<void> {
    for (let next = alone.shift(); next; next = alone.shift()) await this.#runBatch([next]);
  }
}
