import type { Pool } from "pg";
import type { Log } from "../../domain/core/log.ts";
import type { Notifications } from "../database/notifications.ts";
import { queryWithRetry } from "../database/retry.ts";

export interface MovedKeysOptions {
  readonly pool: Pool;
  readonly log: Log;
  /** Reports arrivals; started later. */
  readonly notifications: Notifications;
}

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
