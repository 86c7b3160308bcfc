import { setTimeout as sleep } from "node:timers/promises";
import type { Pool } from "pg";
import type { Log } from "./log.ts";
import { DELETE_EXPIRED, type ExpiredRows, type DeletedRow } from "./expired-rows.ts";

/** What removing needs. */
export interface RetentionOptions {
  pool: Pool;
  log: Log;
  /** Waits so many ms, or until the signal. */
  pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Rows in one transaction at most: so few that nobody who comes in between waits for long. */
const BATCH = 100;

const KINDS: readonly ExpiredRows[] = ["claims", "executions", "relays", "sign_ins", "sessions"];

/** Of its time, what removing takes at first and at most, of all instances together. */
const [FIRST_SHARE, MOST_SHARE] = [0.05, 0.5];

/** Who has not caught up after so long takes twice the share, ms. */
const PATIENCE_MS = 10 * 60_000;

/**
 * How long to rest after a batch that took so long: calls come first, and what is old may lie a little longer. The share is that of all
 * instances together, and it grows while there is no end to the work, so that more cannot become old than is removed.
 * @param lastedMs how long full batches have followed on each other
 */
export function pauseAfter(tookMs: number, instances: number, lastedMs: number): number {
  const share = Math.min(MOST_SHARE, FIRST_SHARE * 2 ** Math.floor(lastedMs / PATIENCE_MS));
  return tookMs * (Math.max(1, instances) / share - 1);
}

/** Removes what is old in small batches with rests in between, however much there is. */
export class Retention {
  readonly #options: RetentionOptions;
  readonly #stopping = new AbortController();

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  /** One round over all kinds; does not reject. */
  async runOnce(): Promise<void> {
    try {
      await this.deleteExpired(KINDS);
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      this.#options.log.warn({ err: error }, "what is old could not be removed, and is tried again");
    }
  }

  /** Ends rounds after their batch. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Batch after batch, of each kind in turn, until none is full. @returns how many rows there were in all */
  async deleteExpired(kinds: readonly ExpiredRows[]): Promise<number> {
    const { signal } = this.#stopping;
    const began = performance.now();
    let total = 0;
    let left = kinds.map((kind) => ({ kind, from: "-infinity" }));
    while (left.length > 0 && !signal.aborted) {
      const full: typeof left = [];
      for (const { kind, from } of left) {
        const at = performance.now();
        const { removed, upTo, instances } = await this.#batch(kind, from);
        total += removed;
        if (removed < BATCH || signal.aborted) continue;
        full.push({ kind, from: upTo });
        const now = performance.now();
        await this.#rest(pauseAfter(now - at, instances, now - began));
      }
      left = full;
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

  async #rest(ms: number): Promise<void> {
    const { signal } = this.#stopping;
    const rest =
      this.#options.pause ?? ((time) => sleep(time, undefined, { signal, ref: false }).catch(() => {}));
    await rest(ms, signal);
  }
}
