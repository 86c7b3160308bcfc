import { setTimeout as sleep } from "node:timers/promises";
import type { Pool, QueryConfig } from "pg";
import { loopTime } from "../loop-time.ts";
import {
  DatabaseUnavailableError,
  DatabaseBusyError,
  isBlocked,
  isConnectionLost,
  isRolledBack,
} from "./database-errors.ts";

/** How long a statement waits for a database that is away, ms. */
export const RETRY_MS = 5_000;

/** How often a transaction that was undone is sent again before its error is believed. */
const MAX_ROLLBACKS = 8;

/**
 * Sends a statement again until it is known to have happened. For statements only that may happen twice without harm.
 * One that has waited for a lock as long as it may is not sent again: others would wait behind it.
 * @param forMs how long to try, ms, by {@link loopTime}: what was sent before a stall is asked for again after it
 * @throws DatabaseAwayError when the connection stays lost; DatabaseBusyError when it is undone or blocked; any other error as it is
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
      await sleep(Math.min(pauseMs, leftMs));
    }
  }
}

/** The rows of a statement that may happen twice without harm, sent {@link withRetry}. */
export async function queryWithRetry<Row extends object>(
  pool: Pool,
  query: QueryConfig,
  forMs = RETRY_MS,
): Promise<Row[]> {
  return withRetry(forMs, async () => (await pool.query<Row>(query)).rows);
}
