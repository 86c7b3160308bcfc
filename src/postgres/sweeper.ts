import type { Pool } from "pg";
import type { Leases } from "./leases.ts";
import type { Log } from "./log.ts";
import { Interval } from "./interval.ts";
import { Retention } from "./retention.ts";

/** What the sweeper needs. */
export interface SweeperOptions {
  pool: Pool;
  instanceId: string;
  /** This instance's own, of which the sweep releases none: the process is at work. */
  leases: Pick<Leases, "runIds">;
  /** The lease of runs, ms; sweeps come three times as often. */
  leaseMs: number;
  log: Log;
  /** Hears of runs that were released. */
  onReleased?: ((runs: number) => void) | undefined;
}

/** Runs in one transaction at most. */
const BATCH = 100;

/** How long after its lease a run is left to an instance that is stalled but connected, in leases: a minute by default. */
const STALL_LEASES = 4;

/**
 * Ends runs whose lease has expired, because their instance died or stalled for too long: holds are released, keys become retryable.
 * Also removes old rows, slowly. Every instance sweeps; locked rows are skipped, so they share the work.
 */
export class Sweeper {
  readonly #options: SweeperOptions;
  readonly #removal: Retention;
  readonly #sweeping: Interval;
  readonly #removing: Interval;

  constructor(options: SweeperOptions) {
    const { pool, log, leaseMs } = options;
    this.#options = options;
    this.#removal = new Retention({ pool, log });
    this.#sweeping = new Interval(leaseMs / 3, () => this.#round());
    this.#removing = new Interval(leaseMs / 3, () => this.#removal.runOnce());
  }

  start(): void {
    this.#sweeping.start();
    this.#removing.start();
  }

  async stop(): Promise<void> {
    this.#removal.stop();
    await Promise.all([this.#sweeping.stop(), this.#removing.stop()]);
  }

  /** Releases every run whose lease has expired. @returns how many it were */
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

  /** Forgets idempotency keys that have expired. @returns how many it were */
  deleteExpiredClaims(): Promise<number> {
    return this.#removal.deleteExpired(["claims"]);
  }

  /** Forgets executions of code that were over long ago. @returns how many it were */
  deleteExpiredExecutions(): Promise<number> {
    return this.#removal.deleteExpired(["executions"]);
  }

  /** Forgets relayed transactions that came to their end long ago; what they paid stays. @returns how many it were */
  deleteExpiredRelays(): Promise<number> {
    return this.#removal.deleteExpired(["relays"]);
  }

  async #round(): Promise<void> {
    try {
      const swept = await this.sweep();
      if (swept > 0) this.#tellReleased(swept);
    } catch (error) {
      this.#options.log.warn({ err: error }, "the sweep failed and is tried again");
    }
  }

  #tellReleased(runs: number): void {
    this.#options.onReleased?.(runs);
    this.#options.log.warn({ runs }, "released the runs of an instance that died or stalled");
  }
}
