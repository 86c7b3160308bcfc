import type { Pool } from "pg";
import type { Log } from "./log.ts";
import { Interval } from "./interval.ts";

/** What the leases of an instance need. */
export interface LeasesOptions {
  pool: Pool;
  /** The owner that this instance's runs name. */
  instanceId: string;
  /** How long a run may go without a heartbeat, ms. */
  leaseMs: number;
  log: Log;
}

/**
 * Keeps the leases of the runs that this process works on. Only those: a run whose end could not be stored is let go, so that the
 * sweep releases its hold. All times are the database's.
 */
export class Leases {
  readonly #options: LeasesOptions;
  readonly #runs = new Set<string>();
  readonly #pulse: Interval;

  constructor(options: LeasesOptions) {
    this.#options = options;
    this.#pulse = new Interval(options.leaseMs / 3, () => this.renew());
  }

  /** Keeps the lease of a run from here on. */
  add(runUuid: string): void {
    this.#runs.add(runUuid);
  }

  /** Lets a run go. */
  remove(runUuid: string): void {
    this.#runs.delete(runUuid);
  }

  /** The runs that are kept. */
  get runIds(): string[] {
    return [...this.#runs];
  }

  start(): void {
    this.#pulse.start();
  }

  stop(): Promise<void> {
    return this.#pulse.stop();
  }

  /** Extends all leases once. A failure is only logged: the next beat comes before a lease ends. */
  async renew(): Promise<void> {
    if (this.#runs.size === 0) return;
    const { pool, instanceId, leaseMs, log } = this.#options;
    try {
      await pool.query({
        name: "leases-beat",
        text: "select ledger_beat($1, $2, $3 * interval '1 millisecond')",
        values: [this.runIds, instanceId, leaseMs],
      });
    } catch (error) {
      log.warn({ err: error }, "the leases of running calls could not be extended");
    }
  }
}
