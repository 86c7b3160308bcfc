import { setTimeout as sleep } from "node:timers/promises";
import type { Pool } from "pg";
import type { Log } from "../../domain/core/log.ts";
import { DELETE_EXPIRED, type ExpiredRows, type DeletedRow } from "./expired-rows.ts";

export interface RetentionOptions {
  pool: Pool;
  log: Log;
  /** Waits for `ms` or until the signal aborts. */
  pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Maximum rows per transaction, so that concurrent calls barely wait. */
const BATCH = 100;

const KINDS: readonly ExpiredRows[] = [
  "claims",
  "executions",
  "relays",
  "sign_ins",
  "sessions",
  "requests",
  "events",
];

/** Initial and maximum share of time spent deleting, over all instances. */
const [INITIAL_SHARE, MAX_SHARE] = [0.05, 0.5];

/** The share doubles after each such period of backlog, ms. */
const BACKLOG_MS = 10 * 60_000;

/**
 * Pause after a batch, ms: calls have priority. All instances share one budget, which grows with the backlog,
 * so that deletion keeps up with new rows.
 * @param lastedMs how long full batches have followed each other
 */
export function pauseAfter(tookMs: number, instances: number, lastedMs: number): number {
  const share = Math.min(MAX_SHARE, INITIAL_SHARE * 2 ** Math.floor(lastedMs / BACKLOG_MS));
  return tookMs * (Math.max(1, instances) / share - 1);
}

/** Deletes expired rows in small batches with pauses. */
export class Retention {
  readonly #options: RetentionOptions;
  readonly #stopping = new AbortController();

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  /** Deletes all kinds once; does not reject. */
  async runOnce(): Promise<void> {
    try {
      await this.deleteExpired(KINDS);
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      this.#options.log.warn({ err: error }, "expired rows not deleted; retried");
    }
  }

  /** Stops after the current batch. */
  stop(): void {
    this.#stopping.abort();
  }

  /**
   * Deletes batches of each kind in turn until none is full.
   * @returns the number of deleted rows
   */
  async deleteExpired(kinds: readonly ExpiredRows[]): Promise<number> {
    const { signal } = this.#stopping;
    const startedAt = performance.now();
    let total = 0;
    let remaining = kinds.map((kind) => ({ kind, from: "-infinity" }));
    while (remaining.length > 0 && !signal.aborted) {
      const unfinished: typeof remaining = [];
      for (const { kind, from } of remaining) {
        const batchStartedAt = performance.now();
        const { removed, upTo, instances } = await this.#batch(kind, from);
        total += removed;
        if (removed < BATCH || signal.aborted) continue;
        unfinished.push({ kind, from: upTo });
        const now = performance.now();
        await this.#pause(pauseAfter(now - batchStartedAt, instances, now - startedAt));
      }
      remaining = unfinished;
    }
    return total;
  }

  async #batch(
    kind: ExpiredRows,
    from: string,
  ): Promise<{ removed: number; upTo: string; instances: number }> {
    const { rows } = await this.#options.pool.query<DeletedRow>({
      name: `removal-${kind}`,
      text: DELETE_EXPIRED[kind],
      values: [from, BATCH],
    });
    const [row] = rows;
    return {
      removed: Number(row?.removed ?? 0n),
      upTo: row?.up_to ?? from,
      instances: Number(row?.instances ?? 1n),
    };
  }

  async #pause(ms: number): Promise<void> {
    const { signal } = this.#stopping;
    const pause =
      this.#options.pause ?? ((time) => sleep(time, undefined, { signal, ref: false }).catch(() => {}));
    await pause(ms, signal);
  }
}
