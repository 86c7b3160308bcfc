import { uuidOf } from "../../domain/core/ids.ts";
import { Interval } from "../database/interval.ts";
import { queryWithRetry } from "../database/retry.ts";
import type { Parts } from "../database/parts.ts";

type KeyUsesOptions = Pick<Parts, "pool" | "clock" | "log">;

/** Write interval, ms. */
const WRITE_MS = 10_000;

/** Last use of each key: collected in memory and written at an interval, so that no call waits for it. */
export class KeyUses {
  readonly #options: KeyUsesOptions;
  readonly #timer: Interval;
  /** Timestamps by key identifier, ms. */
  #used = new Map<string, number>();

  constructor(options: KeyUsesOptions) {
    this.#options = options;
    this.#timer = new Interval(WRITE_MS, () => this.flush());
  }

  /** @param keyId `key_…` */
  record(keyId: string): void {
    this.#used.set(keyId, this.#options.clock.now());
  }

  start(): void {
    this.#timer.start();
  }

  /** Also writes pending uses. */
  async stop(): Promise<void> {
    await this.#timer.stop();
    await this.flush();
  }

  /** Keeps a later use written by another instance. Logs a failure; the next run writes the rest. */
  async flush(): Promise<void> {
    const used = this.#used;
    // Sessions store their own last use.
    const rows = [...used].flatMap(([keyId, at]) => {
      const uuid = uuidOf("key", keyId);
      return uuid === undefined ? [] : [{ uuid, at: new Date(at) }];
    });
    if (rows.length === 0) return;
    this.#used = new Map();
    const { pool, log } = this.#options;
    try {
      await pool.query({
        name: "key-uses-flush",
        text: `insert into key_use as known (key_id, last_used_at)
               select key, at from unnest($1::uuid[], $2::timestamptz[]) use (key, at) order by key
               on conflict (key_id) do update set last_used_at = excluded.last_used_at
                 where known.last_used_at < excluded.last_used_at`,
        values: [rows.map(({ uuid }) => uuid), rows.map(({ at }) => at)],
      });
    } catch (error) {
      this.#used = new Map([...used, ...this.#used]);
      log.warn({ err: error }, "last use of API keys not written; retried");
    }
  }
}

type MovedKeysOptions = Pick<Parts, "pool" | "log" | "notifications">;

/** Notification channel of accounts that arrived with their keys (account_arrive). */
const CHANNEL = "toolgate_moved_keys";

/** Reload interval, ms: finds what no notification reported. */
const RELOAD_MS = 5_000;

/**
 * The hashes of keys that other cells issued, and whose accounts have moved here. In memory, so that any
 * other key of another cell is refused without a query.
 */
export class MovedKeys {
  readonly #options: MovedKeysOptions;
  #hashes: ReadonlySet<string> = new Set();
  #timer: NodeJS.Timeout | undefined;

  private constructor(options: MovedKeysOptions) {
    this.#options = options;
    const onMessage = () => this.#reloadInBackground();
    options.notifications.subscribe({ channel: CHANNEL, onMessage, onGap: onMessage });
  }

  static async open(options: MovedKeysOptions): Promise<MovedKeys> {
    const keys = new MovedKeys(options);
    await keys.#reload();
    return keys;
  }

  /** @param hash SHA-256 of a key, hex */
  has(hash: string): boolean {
    return this.#hashes.has(hash);
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#reloadInBackground(), RELOAD_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #reload(): Promise<void> {
    const rows = await queryWithRetry<{ hash: string }>(this.#options.pool, {
      name: "moved-keys",
      text: `select encode(sha256, 'hex') as hash from api_key where issued_by is not null`,
    });
    this.#hashes = new Set(rows.map(({ hash }) => hash));
  }

  #reloadInBackground(): void {
    this.#reload().catch((err: unknown) => this.#options.log.warn({ err }, "moved keys not reloaded"));
  }
}
