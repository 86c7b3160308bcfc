import type { Pool } from "pg";
import type { Clock } from "../domain/clock.ts";
import { uuidOf } from "../domain/ids.ts";
import type { Log } from "./log.ts";
import { Interval } from "./interval.ts";

/** What remembering uses needs. */
export interface KeyUsesOptions {
  pool: Pool;
  clock: Clock;
  log: Log;
}

/** How often uses are written, ms. */
const EVERY_MS = 10_000;

/** When keys were last used: kept in memory, and written now and then, so that no call waits for it. */
export class KeyUses {
  readonly #options: KeyUsesOptions;
  readonly #pulse: Interval;
  /** By the key's identifier, ms. */
  #used = new Map<string, number>();

  constructor(options: KeyUsesOptions) {
    this.#options = options;
    this.#pulse = new Interval(EVERY_MS, () => this.flush());
  }

  /** @param keyId `key_…` */
  record(keyId: string): void {
    this.#used.set(keyId, this.#options.clock.now());
  }

  start(): void {
    this.#pulse.start();
  }

  /** Writes what is left, too. */
  async stop(): Promise<void> {
    await this.#pulse.stop();
    await this.flush();
  }

  /** Other instances may know of a later use, which stays. A failure is told to the log, and the next turn has what was not written. */
  async flush(): Promise<void> {
    const used = this.#used;
    // Sessions have uses of their own.
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
               on conflict (key_id) do update set last_used_at = excluded.last_used_at where known.last_used_at < excluded.last_used_at`,
        values: [rows.map(({ uuid }) => uuid), rows.map(({ at }) => at)],
      });
    } catch (error) {
      this.#used = new Map([...used, ...this.#used]);
      log.warn({ err: error }, "when keys were last used could not be written, and is tried again");
    }
  }
}
