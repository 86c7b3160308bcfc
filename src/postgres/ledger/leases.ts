import type { Pool } from "pg";
import type { Log } from "../../domain/core/log.ts";
import { Interval } from "../database/interval.ts";

export interface LeasesOptions {
  pool: Pool;
  /** The owner of this instance's runs. */
  instanceId: string;
  /** Lease of a run without a heartbeat, ms. */
  leaseMs: number;
  log: Log;
}

/**
 * Renews the leases of this process's runs, by the database's clock. A run whose end could not be stored is
 * removed, so that the sweep releases its hold.
 */
export class Leases {
  readonly #options: LeasesOptions;
  readonly #runs = new Set<string>();
  readonly #timer: Interval;

  constructor(options: LeasesOptions) {
    this.#options = options;
    this.#timer = new Interval(options.leaseMs / 3, () => this.renew());
  }

  /** Starts renewing a run's lease. */
  add(runUuid: string): void {
    this.#runs.add(runUuid);
  }

  /** Stops renewing a run's lease. */
  remove(runUuid: string): void {
    this.#runs.delete(runUuid);
  }

  get runIds(): string[] {
    return [...this.#runs];
  }

  start(): void {
    this.#timer.start();
  }

  stop(): Promise<void> {
    return this.#timer.stop();
  }

  /** Renews all leases once. Only logs a failure: the next renewal comes before a lease expires. */
  async renew(): Promise<void> {
    if (this.#runs.size === 0) return;
    const { pool, instanceId, leaseMs, log } = this.#options;
    try {
      await pool.query({
        name: "leases-beat",
        text: "select ledger_heartbeat($1, $2, $3 * interval '1 millisecond')",
        values: [this.runIds, instanceId, leaseMs],
      });
    } catch (error) {
      log.warn({ err: error }, "leases of running calls not renewed");
    }
  }
}
