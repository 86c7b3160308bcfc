import type { Pool } from "pg";
import type { Clock, Random } from "../../domain/core/clock.ts";
import type { SealingKey, SealingKeys } from "../../domain/payments/quote.ts";
import type { Log } from "../../domain/core/log.ts";
import { queryWithRetry } from "../database/retry.ts";

export interface SealingKeysOptions {
  pool: Pool;
  clock: Clock;
  random: Random;
  log: Log;
  /** The table: secrets that seal quotes, or that sign API keys. Default `sealing_key`. */
  table?: "sealing_key" | "api_key_secret";
}

/** Reload interval, and delay until a new secret is used, ms: every instance must have loaded it by then. */
const [RELOAD_MS, ACTIVATION_MS] = [15_000, 60_000];

/** How long a reload waits for an unreachable database, ms. */
const RELOAD_RETRY_MS = 1_000;

/** Minimum time between lookups of unknown versions, ms. */
const UNKNOWN_MS = 1_000;

interface StoredKey extends SealingKey {
  /** By this process's clock, ms since the epoch. */
  activeFrom: number;
}

/**
 * Versioned secrets, shared by all instances on a database. Old versions stay valid until the operator
 * deletes them.
 */
export class PostgresSealingKeys implements SealingKeys {
  readonly #options: SealingKeysOptions;
  readonly #table: string;
  #keys: ReadonlyMap<number, StoredKey> = new Map();
  #reloadedAt = Number.NEGATIVE_INFINITY;
  /** The lookup of an unknown version, while it runs or after it failed. */
  #lookup: Promise<void> | undefined;
  #lookupRunning = false;
  #timer: NodeJS.Timeout | undefined;

  private constructor(options: SealingKeysOptions) {
    this.#options = options;
    this.#table = options.table ?? "sealing_key";
  }

  /** Loads the secrets and creates the first one if there is none. */
  static async open(options: SealingKeysOptions): Promise<PostgresSealingKeys> {
    const keys = new PostgresSealingKeys(options);
    await options.pool.query(
      `insert into ${keys.#table} (version, secret, active_from) values (1, $1, now())
        on conflict do nothing`,
      [Buffer.from(options.random.bytes(32))],
    );
    await keys.reload();
    return keys;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#reloadInBackground(), RELOAD_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  current(): SealingKey {
    const now = this.#options.clock.now();
    let newest: StoredKey | undefined;
    for (const key of this.#keys.values()) {
      if (key.activeFrom <= now && (!newest || key.version > newest.version)) newest = key;
    }
    newest ??= this.#keys.values().next().value;
    if (!newest) throw new Error(`${this.#table} is empty`);
    return newest;
  }

  /** Returns undefined for an unknown version and looks it up in the background for the next call. */
  version(version: number): SealingKey | undefined {
    const key = this.#keys.get(version);
    if (!key && this.#mayLookUp()) this.#reloadInBackground();
    return key;
  }

  /**
   * Like {@link version}, but waits for the lookup, which all unknown versions share.
   * @throws ToolgateError UNAVAILABLE when the database is unreachable
   */
  find(version: number): SealingKey | undefined | Promise<SealingKey | undefined> {
    const key = this.#keys.get(version);
    if (key) return key;
    if (this.#mayLookUp()) this.#reloadInBackground();
    return this.#lookup?.then(() => this.#keys.get(version));
  }

  /**
   * Adds a secret that becomes active once every instance has loaded it.
   * @returns its version
   */
  async rotate(): Promise<number> {
    const { pool, random } = this.#options;
    const { rows } = await pool.query<{ version: number }>(
      `insert into ${this.#table} (version, secret, active_from)
       select max(version) + 1, $1, now() + $2 * interval '1 millisecond' from ${this.#table}
         returning version`,
      [Buffer.from(random.bytes(32)), ACTIVATION_MS],
    );
    await this.reload();
    return rows[0]?.version ?? 0;
  }

  async reload(): Promise<void> {
    const { pool, clock } = this.#options;
    this.#reloadedAt = clock.now();
    const rows = await queryWithRetry<{ version: number; secret: Buffer; active_in_ms: number }>(
      pool,
      {
        text: `select version, secret, (extract(epoch
            from active_from - now()) * 1000)::float8 as active_in_ms
               from ${this.#table} order by version`,
      },
      RELOAD_RETRY_MS,
    );
    const now = clock.now();
    this.#keys = new Map(
      rows.map(({ version, secret, active_in_ms }) => [
        version,
        { version, secret, activeFrom: now + active_in_ms },
      ]),
    );
  }

  /** Whether to look up an unknown version: one lookup at a time, at most one per second. */
  #mayLookUp(): boolean {
    return !this.#lookupRunning && this.#options.clock.now() - this.#reloadedAt > UNKNOWN_MS;
  }

  #reloadInBackground(): void {
    this.#lookupRunning = true;
    const lookup = this.reload().finally(() => {
      this.#lookupRunning = false;
    });
    this.#lookup = lookup;
    lookup.then(
      () => (this.#lookup = undefined),
      (error: unknown) => this.#options.log.warn({ err: error, table: this.#table }, "secrets not reloaded"),
    );
  }
}
