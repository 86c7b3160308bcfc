import type { SealingKey, SealingKeys } from "../../domain/payments/quote.ts";
import type { Notifications } from "../database/notifications.ts";
import { queryWithRetry } from "../database/retry.ts";
import type { Parts } from "../database/parts.ts";

export interface SealingKeysOptions extends Pick<Parts, "pool" | "clock" | "random" | "log"> {
  /** Reports changes; started later. Without it, changes are found by polling. */
  notifications?: Notifications;
  /** The table: secrets that seal quotes, sign API keys, or sign receipts. Default `sealing_key`. */
  table?: "sealing_key" | "api_key_secret" | "signing_key";
}

/** Notification channel of changed secrets, written by triggers; the payload is the table. */
const SECRET_CHANNEL = "toolgate_secret";

/** Reload interval, ms: finds what no notification reported. */
const RELOAD_MS = 5_000;

/** Delay until a new secret is used, ms: every instance has loaded it by then. */
export const ACTIVATION_MS = 2 * RELOAD_MS;

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
 * retires them.
 */
export class PostgresSealingKeys implements SealingKeys {
  readonly #options: SealingKeysOptions;
  readonly #table: string;
  #keys: ReadonlyMap<number, StoredKey> = new Map();
  #reloadedAt = Number.NEGATIVE_INFINITY;
  /** Reloads started, and the latest of them that ended: an older one must not undo a newer one. */
  #started = 0;
  #applied = 0;
  /** The lookup of an unknown version, while it runs or after it failed. */
  #lookup: Promise<void> | undefined;
  #lookupRunning = false;
  #timer: NodeJS.Timeout | undefined;

  private constructor(options: SealingKeysOptions) {
    this.#options = options;
    this.#table = options.table ?? "sealing_key";
    options.notifications?.subscribe({
      channel: SECRET_CHANNEL,
      onMessage: (table) => {
        if (table === this.#table) this.#reloadInBackground();
      },
    });
  }

  /** Loads the secrets and creates the first one if there is none. */
  static async open(options: SealingKeysOptions): Promise<PostgresSealingKeys> {
    const keys = new PostgresSealingKeys(options);
    await options.pool.query(
      `insert into ${keys.#table} (version, secret, active_from) select 1, $1, now()
        where not exists (select from ${keys.#table}) on conflict do nothing`,
      [Buffer.from(options.random.bytes(32))],
    );
    await keys.reload();
    return keys;
  }

  all(): readonly SealingKey[] {
    return [...this.#keys.values()];
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

  async reload(): Promise<void> {
    const { pool, clock } = this.#options;
    this.#reloadedAt = clock.now();
    const turn = ++this.#started;
    const rows = await queryWithRetry<{ version: number; secret: Buffer; active_in_ms: number }>(
      pool,
      {
        text: `select version, secret, (extract(epoch
            from active_from - now()) * 1000)::float8 as active_in_ms
               from ${this.#table} order by version`,
      },
      RELOAD_RETRY_MS,
    );
    if (turn < this.#applied) return;
    this.#applied = turn;
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
