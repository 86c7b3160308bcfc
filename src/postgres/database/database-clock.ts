import type { ClientBase, Pool } from "pg";
import type { Metrics } from "../../app/operations/metrics.ts";
import { CLOCK_WARN_MS } from "../../app/operations/readiness.ts";
import type { Clock } from "../../domain/core/clock.ts";
import type { Log } from "../../domain/core/log.ts";

const NOW = "select (extract(epoch from clock_timestamp()) * 1000)::float8 as now";

/** Smaller changes of the difference are not followed, ms: the time would step for nothing. */
const STEP_MS = 1_000;

/**
 * The database's time: this machine's, corrected by the difference measured last. What one instance issues is
 * then valid on all.
 */
export class DatabaseClock implements Clock {
  readonly #clock: Clock;
  #aheadMs = 0;
  #correctionMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now() - this.#correctionMs;
  }

  /** How far this machine's clock is ahead of the database's, ms; the least that the measurement proves. */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  async measure(database: Pool | ClientBase): Promise<void> {
    const sentAt = this.#clock.now();
    const { rows } = await database.query<{ now: number }>(NOW);
    const receivedAt = this.#clock.now();
    const now = rows[0]?.now ?? sentAt;
    this.#aheadMs = Math.round(Math.max(0, sentAt - now) + Math.min(0, receivedAt - now));
    if (Math.abs(this.#aheadMs - this.#correctionMs) >= STEP_MS) this.#correctionMs = this.#aheadMs;
  }
}

/** Measures on a connection; reports the difference, and logs when it becomes too large. */
export function reportedClock(clock: DatabaseClock, log: Log, metrics: Metrics | undefined) {
  let isWrong = false;
  return async (database: Pool | ClientBase): Promise<void> => {
    await clock.measure(database);
    const seconds = clock.aheadMs / 1_000;
    metrics?.set("toolgate_clock_ahead_seconds", seconds, { of: "database" });
    if (isWrong === Math.abs(clock.aheadMs) >= CLOCK_WARN_MS) return;
    isWrong = !isWrong;
    if (isWrong)
      log.warn(
        { event: "clock_wrong", ahead_seconds: seconds },
        "this machine's clock differs from the database's: synchronise both by NTP",
      );
    else log.info({ event: "clock_right" }, "this machine's clock agrees with the database's again");
  };
}
