import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "pg";
import type { Health } from "../../app/operations/health.ts";

/** Timeout of a check, and how long its result is cached, ms. */
const [DEADLINE_MS, CACHE_MS] = [2_000, 500];

/**
 * Whether the database responds. Concurrent checks share one query on a dedicated connection, so that
 * unauthenticated requests cannot load the database.
 */
export class PostgresHealth implements Health {
  readonly #pool: Pool;
  #pending: Promise<boolean> | undefined;
  #last = { healthy: false, at: Number.NEGATIVE_INFINITY };

  constructor(url: string) {
    this.#pool = new Pool({
      connectionString: url,
      max: 1,
      application_name: "toolgate health",
      connectionTimeoutMillis: DEADLINE_MS,
      query_timeout: DEADLINE_MS,
    });
    // An unhandled error event would end the process; the next check reports the failure.
    this.#pool.on("error", () => {});
  }

  async check(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    if (performance.now() - this.#last.at < CACHE_MS) return this.#last.healthy;
    this.#pending ??= this.#query().finally(() => (this.#pending = undefined));
    const done = new AbortController();
    const aborted = once(signal, "abort", { signal: done.signal }).then(
      () => false,
      () => false,
    );
    try {
      return await Promise.race([this.#pending, aborted]);
    } finally {
      done.abort();
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #query(): Promise<boolean> {
    const done = new AbortController();
    const response = this.#pool.query("select").then(
      () => true,
      () => false,
    );
    const timeout = sleep(DEADLINE_MS, false, { signal: done.signal }).catch(() => false);
    const healthy = await Promise.race([response, timeout]);
    done.abort();
    this.#last = { healthy, at: performance.now() };
    return healthy;
  }
}
