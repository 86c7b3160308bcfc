import { setImmediate } from "node:timers/promises";
import type { Span } from "../../domain/core/span.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { loopTime } from "../../loop-time.ts";
import type { Metrics } from "../../app/operations/metrics.ts";
import { DatabaseUnavailableError, DatabaseBusyError } from "./database-errors.ts";

/** Result of an item that must run again in the next batch. */
export const RETRY = Symbol("retry");

/** Maximum attempts per item. A second attempt is already rare: another call won the race. */
const MAX_ATTEMPTS = 50;

/** Maximum attempts of a single item while the database is busy. */
const MAX_BUSY = 3;

/** Maximum queue length: later items would wait for seconds and use memory. */
const MAX_QUEUE = 10_000;

/** Parallel single-item retries after a failed batch, so that one blocked item does not delay the rest. */
const PARALLEL_SINGLES = 4;

/** Maximum event loop turns a batch may gather items, so that the first item is not delayed. */
const MAX_GATHER_TURNS = 8;

/**
 * Queue length from which free lanes share the items. In one batch, all callers would return at once and
 * leave the database idle in between.
 */
const SPLIT_THRESHOLD = 32;

/** Items due within this time are rejected together, ms, instead of one database attempt each. */
const DEADLINE_SLACK_MS = 100;

/** A batch for metrics; times in ms. */
interface BatchSample {
  items: number;
  /** Of its first item. */
  waitedMs: number;
  ranMs: number;
}

interface BatcherOptions<Item, Answer> {
  max: number;
  /** Exclusive keys of an item: two items that share a key never share a batch. */
  keys?: (item: Item) => readonly string[];
  /** Maximum concurrent batches; default 1. One can run while another waits for the disk. */
  lanes?: number;
  /** Lane key: at most one running batch contains it, as two would block each other in the database. */
  lane?: (item: Item) => string;
  /** Step of a call that an item belongs to; a batch is a step of the first call and refers to the others. */
  spanOf?: (item: Item) => Span | undefined;
  name?: string;
  /** Called after each batch that got results. */
  onBatch?: (batch: BatchSample) => void;
  /** How long an item waits for an unreachable database, ms; default 0. */
  retryMs?: number;
  /**
   * Runs a batch and retries for `forMs`; returns one result per item, in order.
   * @throws DatabaseUnavailableError rejects every item past its deadline, in any batch, and retries the
   * rest. After any other error, each item runs alone
   */
  run: (items: readonly Item[], forMs: number) => Promise<readonly (Answer | typeof RETRY)[]>;
}

interface Pending<Item, Answer> {
  item: Item;
  keys: readonly string[];
  lane: string | undefined;
  /** When to reject the item if the database is unreachable, by {@link loopTime}. */
  deadline: number;
  attempts: number;
  /** Busy errors while alone in a batch. */
  busyErrors: number;
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
}

/**
 * Group commit without a timer: items that arrive during a batch form the next one. A single item runs at
 * once, and batches grow with the load.
 */
export class Batcher<Item, Answer> {
  readonly #options: BatcherOptions<Item, Answer>;
  #queue: Pending<Item, Answer>[] = [];
  /**
   * Items of failed batches that run alone. Kept apart: a lane stays taken until all its items are answered.
   */
  readonly #singles = new Set<Pending<Item, Answer>[]>();
  #active = 0;
  #gathering = false;
  /** Lane keys of the running batches. */
  readonly #takenLanes = new Set<string>();

  constructor(options: BatcherOptions<Item, Answer>) {
    this.#options = options;
  }

  /** @throws ToolgateError UNAVAILABLE when the queue is full */
  submit(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#queue.length >= MAX_QUEUE) {
        reject(
          new ToolgateError("UNAVAILABLE", "too many concurrent calls; retry", { retryAfterSeconds: 1 }),
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
      this.#startLane();
    });
  }

  #startLane(): void {
    if (!this.#gathering && this.#active < (this.#options.lanes ?? 1)) void this.#drain();
  }

  async #drain(): Promise<void> {
    this.#active++;
    while (!this.#gathering && this.#queue.length > 0) {
      this.#gathering = true;
      await this.#gather();
      this.#gathering = false;
      const batch = this.#take(this.#batchSize());
      // The rest conflicts with a running batch; its lane takes it afterwards.
      if (batch.length === 0) break;
      if (this.#queue.length > 0) this.#startLane();
      await this.#runInLanes(batch);
    }
    this.#active--;
  }

  /** Gathers while each event loop turn adds items, so that simultaneous arrivals share a batch. */
  async #gather(): Promise<void> {
    for (let turn = 0, before = -1; turn < MAX_GATHER_TURNS && this.#queue.length > before; turn++) {
      before = this.#queue.length;
      await setImmediate();
    }
  }

  #batchSize(): number {
    const { max, lanes = 1 } = this.#options;
    const waiting = this.#queue.length;
    return waiting < SPLIT_THRESHOLD ? max : Math.min(max, Math.ceil(waiting / (lanes - this.#active + 1)));
  }

  async #runInLanes(batch: readonly Pending<Item, Answer>[]): Promise<void> {
    const lanes = new Set(batch.flatMap(({ lane }) => lane ?? []));
    for (const lane of lanes) this.#takenLanes.add(lane);
    await this.#runBatch(batch);
    for (const lane of lanes) this.#takenLanes.delete(lane);
  }

  /**
   * Removes the next batch from the queue, in order of arrival. An item that shares a key with an earlier one
   * waits. Items of a taken lane wait without blocking their keys: there may be thousands.
   */
  #take(max: number): Pending<Item, Answer>[] {
    const taken: Pending<Item, Answer>[] = [];
    const left: Pending<Item, Answer>[] = [];
    const keys = new Set<string>();
    for (const waiting of this.#queue) {
      if (waiting.lane !== undefined && this.#takenLanes.has(waiting.lane)) {
        left.push(waiting);
        continue;
      }
      const fits = taken.length < max && !waiting.keys.some((key) => keys.has(key));
      (fits ? taken : left).push(waiting);
      for (const key of waiting.keys) keys.add(key);
    }
    this.#queue = left;
    return taken;
  }

  async #runBatch(batch: readonly Pending<Item, Answer>[]): Promise<void> {
    const span = this.#spanOf(batch);
    try {
      const from = loopTime();
      const { retryMs = 0, onBatch } = this.#options;
      const forMs = Math.max(0, Math.min(...batch.map(({ deadline: until }) => until)) - loopTime());
      const items = batch.map(({ item }) => item);
      const answers = await this.#options.run(items, forMs);
      span?.end();
      const waitedMs = from + retryMs - Math.min(...batch.map(({ deadline }) => deadline));
      onBatch?.({ items: batch.length, waitedMs: Math.max(0, waitedMs), ranMs: loopTime() - from });
      const retries: Pending<Item, Answer>[] = [];
      for (const [index, waiting] of batch.entries()) {
        const answer = answers[index];
        if (answer === RETRY && ++waiting.attempts < MAX_ATTEMPTS) retries.push(waiting);
        else if (answer === RETRY)
          waiting.reject(
            new ToolgateError(
              "UNAVAILABLE",
              "too many concurrent calls with the same key or payment; retry",
              { retryAfterSeconds: 1 },
            ),
          );
        else if (answer === undefined) waiting.reject(new Error("the batch returned no result for an item"));
        else waiting.resolve(answer);
      }
      this.#queue.unshift(...retries);
    } catch (error) {
      span?.end(error);
      await this.#recover(batch, error);
    }
  }

  /** Starts the step of a batch; undefined unless one of its calls is sampled. */
  #spanOf(batch: readonly Pending<Item, Answer>[]): Span | undefined {
    const { spanOf, name = "batch" } = this.#options;
    let shared: Span | undefined;
    if (!spanOf) return undefined;
    for (const { item } of batch) {
      const own = spanOf(item);
      if (own?.sampled !== true) continue;
      shared ??= own.child(
        name,
        {
          "db.system.name": "postgresql",
          "db.query.summary": name,
          "db.operation.batch.size": batch.length > 1 ? batch.length : undefined,
        },
        "client",
      );
      shared.link(own);
      own.link(shared);
    }
    return shared;
  }

  async #recover(batch: readonly Pending<Item, Answer>[], error: unknown): Promise<void> {
    if (error instanceof DatabaseUnavailableError) {
      this.#rejectOverdue(batch, error);
      return;
    }
    const [only, ...others] = batch;
    if (only && others.length === 0) {
      if (error instanceof DatabaseBusyError && ++only.busyErrors < MAX_BUSY) this.#queue.push(only);
      else only.reject(error);
      return;
    }
    // One failing item must not fail the others.
    const singles = [...batch];
    this.#singles.add(singles);
    await Promise.all(Array.from({ length: PARALLEL_SINGLES }, () => this.#runSingles(singles)));
    this.#singles.delete(singles);
  }

  /** Rejects items past their deadline; the others keep waiting. */
  #rejectOverdue(batch: readonly Pending<Item, Answer>[], error: DatabaseUnavailableError): void {
    const singles = [...this.#singles].flatMap((waiting) => waiting.splice(0));
    const due = loopTime() + DEADLINE_SLACK_MS;
    const waiting = [...batch, ...singles, ...this.#queue];
    this.#queue = waiting.filter(({ deadline: until }) => until > due);
    for (const { deadline: until, reject } of waiting) if (until <= due) reject(error);
  }

  async #runSingles(singles: Pending<Item, Answer>[]): Promise<void> {
    for (let next = singles.shift(); next; next = singles.shift()) await this.#runBatch([next]);
  }
}

export function batchObserver(batch: string, metrics: Metrics | undefined) {
  return ({ items, waitedMs, ranMs }: BatchSample) => {
    metrics?.observe("toolgate_batch_items", items, { batch });
    metrics?.observe("toolgate_batch_wait_seconds", waitedMs / 1_000, { batch });
    metrics?.observe("toolgate_batch_duration_seconds", ranMs / 1_000, { batch });
  };
}
