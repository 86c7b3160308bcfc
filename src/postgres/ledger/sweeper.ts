import type { Pool } from "pg";
import type { Leases } from "./leases.ts";
import type { Log } from "../../domain/core/log.ts";
import { Interval } from "../database/interval.ts";
import { Retention } from "./retention.ts";

export interface SweeperOptions {
  pool: Pool;
  instanceId: string;
  /** Runs of this instance, which its sweep never releases: the process is alive. */
  leases: Pick<Leases, "runIds">;
  /** Lease of runs, ms; sweeps run three times per lease. */
  leaseMs: number;
  log: Log;
  /** Called with the number of released runs. */
  onReleased?: ((runs: number) => void) | undefined;
}

/** Maximum runs per transaction. */
const BATCH = 100;

/**
 * Extra time for a stalled but connected instance after its lease expired, in leases: a minute by default.
 */
const STALL_LEASES = 4;

/**
 * Releases runs whose lease expired because their instance died or stalled: frees holds and makes idempotency
 * keys retryable. Also deletes expired rows. Every instance sweeps; locked rows are skipped, so instances
 * share the work.
 */
export class Sweeper {
  readonly #options: SweeperOptions;
  readonly #retention: Retention;
  readonly #sweepTimer: Interval;
  readonly #retentionTimer: Interval;

  constructor(options: SweeperOptions) {
    const { pool, log, leaseMs } = options;
    this.#options = options;
    this.#retention = new Retention({ pool, log });
    this.#sweepTimer = new Interval(leaseMs / 3, () => this.#run());
    this.#retentionTimer = new Interval(leaseMs / 3, () => this.#retention.runOnce());
  }

  start(): void {
    this.#sweepTimer.start();
    this.#retentionTimer.start();
  }

  async stop(): Promise<void> {
    this.#retention.stop();
    await Promise.all([this.#sweepTimer.stop(), this.#retentionTimer.stop()]);
  }

  /**
   * Releases every run with an expired lease.
   * @returns their number
   */
  async sweep(): Promise<number> {
    const { pool, instanceId, leases, leaseMs } = this.#options;
    for (let total = 0; ;) {
      const { rows } = await pool.query<{ count: bigint }>({
        name: "sweeper-sweep",
        text: "select ledger_sweep($1, $2, $3, $4 * interval '1 millisecond') as count",
        values: [BATCH, instanceId, leases.runIds, STALL_LEASES * leaseMs],
      });
      const count = Number(rows[0]?.count ?? 0n);
      total += count;
      if (count < BATCH) return total;
    }
  }

  /** @returns the number of deleted idempotency records */
  deleteExpiredClaims(): Promise<number> {
    return this.#retention.deleteExpired(["claims"]);
  }

  /** @returns the number of deleted executions */
  deleteExpiredExecutions(): Promise<number> {
    return this.#retention.deleteExpired(["executions"]);
  }

  /**
   * Keeps the payments of the relays.
   * @returns the number of deleted relays
   */
  deleteExpiredRelays(): Promise<number> {
    return this.#retention.deleteExpired(["relays"]);
  }

  async #run(): Promise<void> {
    try {
      const swept = await this.sweep();
      if (swept > 0) this.#reportReleased(swept);
    } catch (error) {
      this.#options.log.warn({ err: error }, "sweep failed; retried");
    }
  }

  #reportReleased(runs: number): void {
    this.#options.onReleased?.(runs);
    this.#options.log.warn({ runs }, "released the runs of an instance that died or stalled");
  }
}
