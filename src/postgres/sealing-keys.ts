import type { Pool } from "pg";
import type { Clock, Random } from "../domain/clock.ts";
import type { SealingKey, SealingKeys } from "../domain/quote.ts";
import type { Log } from "./log.ts";
import { queryWithRetry } from "./retry.ts";

/** What the secrets need. */
export interface SealingKeysOptions {
  pool: Pool;
  clock: Clock;
  random: Random;
  log: Log;
  /** Table of the secrets: those of quotes, or those that sign API keys. Default `sealing_key`. */
  table?: "sealing_key" | "api_key_secret";
}

/** How often an instance reads the secrets again, and how long a new one waits until it is used, so that every instance knows it, ms. */
const [RELOAD_MS, ACTIVATION_MS] = [15_000, 60_000];

/** How long a reload waits for a database that is away, ms. */
const PATIENCE_MS = 1_000;

/** An unknown version is not asked for more often than this, ms. */
const UNKNOWN_MS = 1_000;

interface StoredKey extends SealingKey {
  /** By this process's clock, ms since the epoch. */
  activeFrom: number;
}

/** Secrets of the deployment by version, shared by all instances on one database. Old versions are kept until the operator deletes them. */
export class PostgresSealingKeys implements SealingKeys {
  readonly #options: SealingKeysOptions;
  readonly #table: string;
  #keys: ReadonlyMap<number, StoredKey> = new Map();
  #reloadedAt = Number.NEGATIVE_INFINITY;
  /** The last look for an unknown version, while it is under way or has failed. */
  #last: Promise<void> | undefined;
  #looking = false;
  #timer: NodeJS.Timeout | undefined;

  private constructor(options: SealingKeysOptions) {
    this.#options = options;
    this.#table = options.table ?? "sealing_key";
  }

  /** Loads the secrets, and makes the first one where there is none. */
  static async open(options: SealingKeysOptions): Promise<PostgresSealingKeys> {
    const keys = new PostgresSealingKeys(options);
    await options.pool.query(
      `insert into ${keys.#table} (version, secret, active_from) values (1, $1, now()) on conflict do nothing`,
      [Buffer.from(options.random.bytes(32))],
    );
    await keys.reload();
    return keys;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#reloadLater(), RELOAD_MS).unref();
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

  /** An unknown version is looked for in the background: the next call knows it if it exists. */
  version(version: number): SealingKey | undefined {
    const key = this.#keys.get(version);
    if (!key && this.#mayAsk()) this.#reloadLater();
    return key;
  }

  /**
   * Like {@link version}, but waits for that look, which all unknown versions share.
   * @throws ToolgateError UNAVAILABLE while the database cannot be asked
   */
  find(version: number): SealingKey | undefined | Promise<SealingKey | undefined> {
    const key = this.#keys.get(version);
    if (key) return key;
    if (this.#mayAsk()) this.#reloadLater();
    return this.#last?.then(() => this.#keys.get(version));
  }

  /** Adds a secret, which is used once every instance knows it. @returns its version */
  async rotate(): Promise<number> {
    const { pool, random } = this.#options;
    const { rows } = await pool.query<{ version: number }>(
      `insert into ${this.#table} (version, secret, active_from)
       select max(version) + 1, $1, now() + $2 * interval '1 millisecond' from ${this.#table} returning version`,
      [Buffer.from(random.bytes(32)), ACTIVATION_MS],
    );
    await this.reload();
    return rows[0]?.version ?? 0;
  }

  /** Reads all secrets again. */
  async reload(): Promise<void> {
    const { pool, clock } = this.#options;
    this.#reloadedAt = clock.now();
    const rows = await queryWithRetry<{ version: number; secret: Buffer; active_in_ms: number }>(
      pool,
      {
        text: `select version, secret, (extract(epoch from active_from - now()) * 1000)::float8 as active_in_ms
               from ${this.#table} order by version`,
      },
      PATIENCE_MS,
    );
    const now = clock.now();
    this.#keys = new Map(
      rows.map(({ version, secret, active_in_ms }) => [
        version,
        { version, secret, activeFrom: now + active_in_ms },
      ]),
    );
  }

  /** Whether an unknown version may be looked for: once at a time, and once a second in all. */
  #mayAsk(): boolean {
    return !this.#looking && this.#options.clock.now() - this.#reloadedAt > UNKNOWN_MS;
  }

  #reloadLater(): void {
    this.#looking = true;
    const look = this.reload().finally(() => {
      this.#looking = false;
    });
    this.#last = look;
    look.then(
      () => (this.#last = undefined),
      (error: unknown) =>
        this.#options.log.warn({ err: error, table: this.#table }, "secrets could not be read again"),
    );
  }
}
