import { once } from "node:events";
import type { Pool } from "pg";
import type { Health } from "../app/ports.ts";

/** Whether the database answers. */
export class PostgresHealth implements Health {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async check(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    const done = new AbortController();
    const given = once(signal, "abort", { signal: done.signal }).then(
      () => false,
      () => false,
    );
    const answered = this.#pool.query("select").then(
      () => true,
      () => false,
    );
    try {
      return await Promise.race([answered, given]);
    } finally {
      done.abort();
    }
  }
}
