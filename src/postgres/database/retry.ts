import { setTimeout as sleep } from "node:timers/promises";
import type { Pool, QueryConfig } from "pg";
import { loopTime } from "../../loop-time.ts";
import {
  DatabaseUnavailableError,
  DatabaseBusyError,
  isBlocked,
  isConnectionLost,
  isRolledBack,
} from "./database-errors.ts";

/** How long a statement waits for an unreachable database, ms. */
export const RETRY_MS = 5_000;

const MAX_ROLLBACKS = 8;

let repeated = 0;

/** Returns how many statements this process has repeated. */
export function retries(): number {
  return repeated;
}

/**
 * Retries until the statement's outcome is known. Only for statements that may run twice. Lock timeouts are
 * not retried: other statements would queue behind them.
 * @param forMs how long to retry, ms, by {@link loopTime}, so that a stall does not use it up
 * @throws DatabaseUnavailableError when the connection stays lost; DatabaseBusyError when rolled back or
 * blocked; any other error unchanged
 */
export async function withRetry<Result>(forMs: number, run: () => Promise<Result>): Promise<Result> {
  const since = loopTime();
  let undone = 0;
  for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 2, 500)) {
    try {
      return await run();
    } catch (error) {
      const leftMs = forMs - (loopTime() - since);
      if (isBlocked(error)) throw new DatabaseBusyError(error);
      if (isRolledBack(error)) {
        if (leftMs <= 0 || ++undone > MAX_ROLLBACKS) throw new DatabaseBusyError(error);
      } else {
        if (!isConnectionLost(error)) throw error;
        if (leftMs <= 0) throw new DatabaseUnavailableError(error);
      }
      repeated++;
      await sleep(Math.min(pauseMs, leftMs));
    }
  }
}

/** Rows of a statement that may run twice, with {@link withRetry}. */
export async function queryWithRetry<Row extends object>(
  pool: Pool,
  query: QueryConfig,
  forMs = RETRY_MS,
): Promise<Row[]> {
  return withRetry(forMs, async () => (await pool.query<Row>(query)).rows);
}
