import type { Pool } from "pg";
import type { Clock, Random } from "../domain/clock.ts";
import type { SealingKey, SealingKeys } from "../domain/quote.ts";
import type { Log } from "./log.ts";

/** What the sealing keys need. */
export interface SealingKeysOptions {
  pool: Pool;
  clock: Clock;
  random: Random;
  log: Log;
}

/** How often an instance looks for new keys, and how long a new key waits until it seals, so that every instance can open by then, ms. */
const [RELOAD_MS, ACTIVATION_MS] = [15_000, 60_000];

/** A version that nobody has is not asked for more often than this, ms. */
const UNKNOWN_MS = 1_000;

interface StoredKey extends SealingKey {
  /** By this process's clock, ms since the epoch. */
  activeFrom: number;
}

/** The secrets that quotes are sealed with, shared by all instances on one database. Old ones are kept: a late payment still names its quote. */
export class PostgresSealingKeys implements SealingKeys {
  readonly #options: SealingKeysOptions;
  #keys: ReadonlyMap<number, StoredKey> = new Map();
  #reloadedAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  private constructor(options: SealingKeysOptions) {
    this.#options = options;
  }

  /** Loads the keys, and makes the first one where there is none. */
  static async open(options: SealingKeysOptions): Promise<PostgresSealingKeys> {
    const keys = new PostgresSealingKeys(options);
    await options.pool.query(
      "insert into sealing_key (version, secret, active_from) values (1, $1, now()) on conflict do nothing",
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
    if (!newest) throw new Error("there is no sealing key");
    return newest;
  }

  /** An unknown version is looked for in the background: the next call knows it if it exists. */
  version(version: number): SealingKey | undefined {
    const key = this.#keys.get(version);
    if (!key && this.#options.clock.now() - this.#reloadedAt > UNKNOWN_MS) this.#reloadLater();
    return key;
  }

  /** Adds a key, which seals new quotes once every instance knows it. @returns its version */
  async rotate(): Promise<number> {
    const { pool, random } = this.#options;
    const { rows } = await pool.query<{ version: number }>(
      `insert into sealing_key (version, secret, active_from)
       select max(version) + 1, $1, now() + $2 * interval '1 millisecond' from sealing_key returning version`,
      [Buffer.from(random.bytes(32)), ACTIVATION_MS],
    );
    await this.reload();
    return rows[0]?.version ?? 0;
  }

  /** Reads all keys anew. */
  async reload(): Promise<void> {
    const { pool, clock } = this.#options;
    this.#reloadedAt = clock.now();
    const { rows } = await pool.query<{ version: number; secret: Buffer; active_in_ms: number }>(
      "select version, secret, (extract(epoch from active_from - now()) * 1000)::float8 as active_in_ms from sealing_key order by version",
    );
    const now = clock.now();
    this.#keys = new Map(
      rows.map(({ version, secret, active_in_ms }) => [version, { version, secret, activeFrom: now + active_in_ms }]),
    );
  }

  #reloadLater(): void {
    this.reload().catch((error: unknown) =>
      this.#options.log.warn({ err: error }, "the sealing keys could not be read again"),
    );
  }
}
