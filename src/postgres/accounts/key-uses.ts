import type { Pool } from "pg";
import type { Clock } from "../../domain/core/clock.ts";
import { uuidOf } from "../../domain/core/ids.ts";
import type { Log } from "../../domain/core/log.ts";
import { Interval } from "../database/interval.ts";

export interface KeyUsesOptions {
  pool: Pool;
  clock: Clock;
  log: Log;
}

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
