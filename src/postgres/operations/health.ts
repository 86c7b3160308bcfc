import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseError, Pool } from "pg";
import type { DatabaseState, Health } from "../../app/operations/readiness.ts";
import type { DatabaseClock } from "../database/database-clock.ts";
import { serverOf } from "../database/server.ts";
import { readSqlSchema } from "../database/sql-files.ts";

/** Timeout of a check, and how long its result is cached, ms. */
const [DEADLINE_MS, CACHE_MS] = [2_000, 500];

/** A standby and a database with default_transaction_read_only are both read-only. */
const STATE = `select current_setting('transaction_read_only')::boolean as "readOnly",
  (select count(*) from schema_file join unnest($1::text[], $2::text[]) own (name, checksum)
    using (name, checksum)) = cardinality($1) as current`;

/** PostgreSQL's code for a missing table. */
const UNDEFINED_TABLE = "42P01";

/**
 * The state of the database for calls. Concurrent checks share one query on a dedicated connection, so that
 * unauthenticated requests cannot load the database.
 */
export class PostgresHealth implements Health {
  readonly #clock: Pick<DatabaseClock, "aheadMs">;
  readonly #pool: Pool;
  readonly #migrations = readSqlSchema().frozen;
  #pending: Promise<DatabaseState> | undefined;
  #last: { state: DatabaseState; at: number } = { state: "unreachable", at: Number.NEGATIVE_INFINITY };

  constructor(url: string, clock: Pick<DatabaseClock, "aheadMs">) {
    this.#clock = clock;
    this.#pool = new Pool({
      ...serverOf(url),
      max: 1,
      application_name: "toolgate health",
      connectionTimeoutMillis: DEADLINE_MS,
      query_timeout: DEADLINE_MS,
    });
    // An unhandled error event would end the process; the next check reports the failure.
    this.#pool.on("error", () => {});
    this.#pool.on("connect", (client) => client.on("error", () => {}));
  }

  get clockAheadMs(): number {
    return this.#clock.aheadMs;
  }

  async check(signal: AbortSignal): Promise<boolean> {
    return (await this.state(signal)) === "ok";
  }

  async state(signal: AbortSignal): Promise<DatabaseState> {
    if (signal.aborted) return "unreachable";
    if (performance.now() - this.#last.at < CACHE_MS) return this.#last.state;
    this.#pending ??= this.#query().finally(() => (this.#pending = undefined));
    const done = new AbortController();
    const aborted = once(signal, "abort", { signal: done.signal }).then(
      () => "unreachable" as const,
      () => "unreachable" as const,
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

  async #query(): Promise<DatabaseState> {
    const done = new AbortController();
    const timeout = sleep(DEADLINE_MS, "unreachable" as const, { signal: done.signal });
    const state = await Promise.race([this.#ask(), timeout.catch(() => "unreachable" as const)]);
    done.abort();
    this.#last = { state, at: performance.now() };
    return state;
  }

  async #ask(): Promise<DatabaseState> {
    try {
      const { rows } = await this.#pool.query<{ readOnly: boolean; current: boolean }>(STATE, [
        this.#migrations.map(({ path }) => path),
        this.#migrations.map(({ checksum }) => checksum),
      ]);
      if (rows[0]?.readOnly !== false) return "read-only";
      return rows[0].current ? "ok" : "old schema";
    } catch (error) {
      const code = error instanceof DatabaseError ? error.code : undefined;
      return code === UNDEFINED_TABLE ? "old schema" : "unreachable";
    }
  }
}
