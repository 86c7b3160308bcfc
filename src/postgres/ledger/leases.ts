import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Interval } from "../database/interval.ts";
import { clientFor } from "../database/server.ts";
import { sessionName } from "./session-name.ts";
import type { Parts } from "../database/parts.ts";
import { Retention } from "./retention.ts";

type LeasesOptions = Pick<Parts, "pool" | "instanceId" | "leaseMs" | "log">;

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

  add(runUuid: string): void {
    this.#runs.add(runUuid);
  }

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

interface SessionLockOptions extends Pick<Parts, "instanceId" | "log"> {
  readonly url: string;
}

/** Pause before reconnecting, ms. */
const PAUSE_MS = 1_000;

/**
 * The kernel sends keep-alives even while the event loop stalls, so no firewall drops the idle connection.
 * Ms.
 */
const KEEP_ALIVE_MS = 30_000;

/**
 * Proves to other instances that this process exists: a session with a shared advisory lock on the instance's
 * identifier. It survives event loop stalls and ends with the process. Renews no lease.
 */
export class SessionLock {
  readonly #options: SessionLockOptions;
  #stopping: AbortController | undefined;
  #running: Promise<void> = Promise.resolve();
  #session: ReturnType<typeof clientFor> | undefined;
  #configVersion: number | undefined;

  constructor(options: SessionLockOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#stopping) return;
    this.#stopping = new AbortController();
    this.#running = this.#run(this.#stopping.signal);
  }

  async stop(): Promise<void> {
    this.#stopping?.abort();
    await this.#running;
    this.#stopping = undefined;
  }

  /** Shows other processes which version of the configuration this one uses. */
  show(configVersion: number): void {
    this.#configVersion = configVersion;
    this.#name().catch(() => {}); // A new session shows it.
  }

  async #name(): Promise<void> {
    const name = sessionName(this.#options.instanceId, this.#configVersion);
    await this.#session?.query("select set_config('application_name', $1, false)", [name]);
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#hold(signal);
      } catch (error) {
        if (!signal.aborted) this.#options.log.warn({ err: error }, "session lock lost");
      }
      await sleep(PAUSE_MS, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  /** Holds the lock until the connection breaks or the signal aborts. */
  async #hold(signal: AbortSignal): Promise<void> {
    const { url, instanceId } = this.#options;
    // No query timeout: it would end the session after a stall.
    const client = clientFor(url, {
      application_name: sessionName(instanceId, undefined),
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    });
    client.on("error", () => {}); // Ends the wait below.
    const ended = once(client, "end", { signal });
    // Also ends a query that an unreachable server never answers.
    ended.catch(() => client.end()).catch(() => {});
    try {
      await client.connect();
      await client.query("select pg_advisory_lock_shared(hashtextextended($1::uuid::text, 0))", [instanceId]);
      this.#session = client;
      await this.#name();
      await ended;
      throw new Error("Connection terminated");
    } finally {
      this.#session = undefined;
      client.end().catch(() => {});
    }
  }
}

interface SweeperOptions extends Pick<Parts, "pool" | "instanceId" | "leaseMs" | "log"> {
  /** Runs of this instance, which its sweep never releases: the process is alive. */
  leases: Pick<Leases, "runIds">;
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
  readonly retention: Retention;
  readonly #sweepTimer: Interval;
  readonly #retentionTimer: Interval;

  constructor(options: SweeperOptions) {
    const { pool, log, leaseMs } = options;
    this.#options = options;
    this.retention = new Retention({ pool, log });
    this.#sweepTimer = new Interval(leaseMs / 3, () => this.#run());
    this.#retentionTimer = new Interval(leaseMs / 3, () => this.retention.runOnce());
  }

  start(): void {
    this.#sweepTimer.start();
    this.#retentionTimer.start();
  }

  async stop(): Promise<void> {
    this.retention.stop();
    await Promise.all([this.#sweepTimer.stop(), this.#retentionTimer.stop()]);
  }

  /** Releases every run with an expired lease. @returns their number */
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
