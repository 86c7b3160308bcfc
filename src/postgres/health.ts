import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "pg";
import type { Health } from "../app/ports.ts";

/** How long the database may take to answer, and how long its answer counts, ms. */
const [DEADLINE_MS, FRESH_MS] = [2_000, 500];

/**
 * Whether the database answers. Anyone may ask, as often as they like: all who ask at once get one answer, over a connection
 * that is for this alone, so that asking takes nothing from the calls.
 */
export class PostgresHealth implements Health {
  readonly #pool: Pool;
  #asking: Promise<boolean> | undefined;
  #last = { healthy: false, at: Number.NEGATIVE_INFINITY };

  constructor(url: string) {
    this.#pool = new Pool({
      connectionString: url,
      max: 1,
      application_name: "toolgate health",
      connectionTimeoutMillis: DEADLINE_MS,
      query_timeout: DEADLINE_MS,
    });
    // Unheard errors would end the process; the next question tells.
    this.#pool.on("error", () => {});
  }

  async check(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    if (performance.now() - this.#last.at < FRESH_MS) return this.#last.healthy;
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
    const done = new AbortController();
    const given = once(signal, "abort", { signal: done.signal }).then(
      () => false,
      () => false,
    );
    try {
      return await Promise.race([this.#asking, given]);
    } finally {
      done.abort();
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #ask(): Promise<boolean> {
    const done = new AbortController();
    const answered = this.#pool.query("select").then(
      () => true,
      () => false,
    );
    const late = sleep(DEADLINE_MS, false, { signal: done.signal }).catch(() => false);
    const healthy = await Promise.race([answered, late]);
    done.abort();
    this.#last = { healthy, at: performance.now() };
    return healthy;
  }
}
