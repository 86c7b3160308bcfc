import type { Pool } from "pg";
import type { Log } from "./log.ts";

/** What the sweeper needs. */
export interface SweeperOptions {
  pool: Pool;
  /** The lease of runs, ms; sweeps come three times as often. */
  leaseMs: number;
  log: Log;
}

/** Runs and claims in one transaction at most. */
const BATCH = 100;

/**
 * Forgets expired keys, oldest first, along the index of those that expire and then by the place of each row: a plan that no
 * statistics can turn into a scan of the table. Nothing is waited for, so the order of locks does not matter.
 */
export const FORGET = `
  delete from idempotency where ctid = any (array(
    select ctid from idempotency
    where expires_at < now() and expires_at < 'infinity' and state <> 'running'
    order by expires_at limit $1 for update skip locked))`;

/**
 * Ends runs whose lease has expired, because their instance died or stalled: holds go back, keys become retryable. Also forgets
 * idempotency keys that have expired. Every instance sweeps; locked rows are skipped, so they share the work.
 */
export class Sweeper {
  readonly #options: SweeperOptions;
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<unknown> = Promise.resolve();

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer ??= setInterval(() => {
      this.#sweeping = this.#sweeping.then(() => this.#round());
    }, this.#options.leaseMs / 3).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#sweeping;
  }

  /** Releases every run whose lease has expired. @returns how many it were */
  async sweep(): Promise<number> {
    for (let swept = 0; ;) {
      const { rows } = await this.#options.pool.query<{ swept: bigint }>({
        name: "sweeper-sweep",
        text: "select ledger_sweep($1) as swept",
        values: [BATCH],
      });
      const count = Number(rows[0]?.swept ?? 0n);
      swept += count;
      if (count < BATCH) return swept;
    }
  }

  /**
   * Forgets expired keys. Those that a payment points to never expire: what was bought with a transaction is replayed for ever.
   * @returns how many it were
   */
  async forget(): Promise<number> {
    for (let forgotten = 0; ;) {
      const { rowCount } = await this.#options.pool.query({ name: "sweeper-forget", text: FORGET, values: [BATCH] });
      const count = rowCount ?? 0;
      forgotten += count;
      if (count < BATCH) return forgotten;
    }
  }

  async #round(): Promise<void> {
    try {
      const swept = await this.sweep();
      if (swept > 0) this.#options.log.warn({ runs: swept }, "released the runs of an instance that died or stalled");
      await this.forget();
    } catch (error) {
      this.#options.log.warn({ err: error }, "the sweep failed and is tried again");
    }
  }
}
