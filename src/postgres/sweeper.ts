import type { Pool } from "pg";
import type { Log } from "./log.ts";
import { Pulse } from "./pulse.ts";

/** What the sweeper needs. */
export interface SweeperOptions {
  pool: Pool;
  /** The lease of runs, ms; sweeps come three times as often. */
  leaseMs: number;
  log: Log;
  /** Hears of runs that were released. */
  onReleased?: ((runs: number) => void) | undefined;
}

/** Runs and claims in one transaction at most. */
const BATCH = 100;

/**
 * Ends runs whose lease has expired, because their instance died or stalled: holds go back, keys become retryable. Also forgets
 * idempotency keys that have expired, old executions of code, old relays, and sign-ins and sessions that are over. Every instance sweeps;
 * locked rows are skipped, so they share the work.
 */
export class Sweeper {
  readonly #options: SweeperOptions;
  readonly #pulse: Pulse;

  constructor(options: SweeperOptions) {
    this.#options = options;
    this.#pulse = new Pulse(options.leaseMs / 3, () => this.#round());
  }

  start(): void {
    this.#pulse.start();
  }

  stop(): Promise<void> {
    return this.#pulse.stop();
  }

  /** Releases every run whose lease has expired. @returns how many it were */
  async sweep(): Promise<number> {
    return this.#repeat({ name: "sweeper-sweep", text: "select ledger_sweep($1) as count" });
  }

  /**
   * Forgets expired keys. Those that a payment points to never expire: what was bought with a transaction is replayed for ever.
   * @returns how many it were
   */
  async forget(): Promise<number> {
    return this.#repeat({ name: "sweeper-forget", text: "select ledger_forget($1) as count" });
  }

  /** Forgets executions of code that were over long ago. @returns how many it were */
  async forgetExecutions(): Promise<number> {
    return this.#repeat({ name: "sweeper-forget-executions", text: "select sandbox_forget($1) as count" });
  }

  /** Forgets relayed transactions that came to their end long ago; what they paid stays. @returns how many it were */
  async forgetRelays(): Promise<number> {
    return this.#repeat({ name: "sweeper-forget-relays", text: "select relay_forget($1) as count" });
  }

  /** Forgets sign-ins that were not finished, a while after they could be: the clocks of instances differ. @returns how many it were */
  async forgetSignIns(): Promise<number> {
    return this.#repeat({
      name: "sweeper-forget-sign-ins",
      text: `with gone as (
               delete from sign_in_challenge where nonce in (
                 select nonce from sign_in_challenge where expires_at < now() - interval '5 minutes' limit $1)
               returning nonce)
             select count(*) as count from gone`,
    });
  }

  /** Forgets sessions that are over; those that were not used for too long are found by nobody until then. @returns how many it were */
  async forgetSessions(): Promise<number> {
    return this.#repeat({
      name: "sweeper-forget-sessions",
      text: `with gone as (
               delete from console_session where id in (
                 select id from console_session where expires_at < now() limit $1)
               returning id)
             select count(*) as count from gone`,
    });
  }

  /** Batch after batch, until one is not full. @returns how many rows there were in all */
  async #repeat(statement: { name: string; text: string }): Promise<number> {
    for (let total = 0; ;) {
      const { rows } = await this.#options.pool.query<{ count: bigint }>({ ...statement, values: [BATCH] });
      const count = Number(rows[0]?.count ?? 0n);
      total += count;
      if (count < BATCH) return total;
    }
  }

  async #round(): Promise<void> {
    try {
      const swept = await this.sweep();
      if (swept > 0) this.#tellReleased(swept);
      await this.forget();
      await this.forgetExecutions();
      await this.forgetRelays();
      await this.forgetSignIns();
      await this.forgetSessions();
    } catch (error) {
      this.#options.log.warn({ err: error }, "the sweep failed and is tried again");
    }
  }

  #tellReleased(runs: number): void {
    this.#options.onReleased?.(runs);
    this.#options.log.warn({ runs }, "released the runs of an instance that died or stalled");
  }
}
