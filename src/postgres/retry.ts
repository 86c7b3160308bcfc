import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../domain/clock.ts";
import { ToolgateError } from "../domain/errors.ts";
import { wasLost, wasUndone } from "./database-errors.ts";

/** How often a transaction that was undone is sent again before its error is believed. */
const MAX_UNDONE = 8;

/**
 * Sends a statement again until it is known to have happened. For statements only that may happen twice without harm.
 * @param forMs how long to try, ms
 * @throws ToolgateError UNAVAILABLE when the database stays out of reach; any other error as it is
 */
export async function retrying<Result>(clock: Clock, forMs: number, run: () => Promise<Result>): Promise<Result> {
  const since = clock.now();
  let undone = 0;
  for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 2, 500)) {
    try {
      return await run();
    } catch (error) {
      const retry = wasLost(error) || (wasUndone(error) && ++undone <= MAX_UNDONE);
      if (!retry) throw error;
      if (clock.now() - since + pauseMs > forMs) {
        throw new ToolgateError(
          "UNAVAILABLE",
          "the database is out of reach; repeat the call with the same idempotency key or proof",
          {
            retryAfterSeconds: 2,
            cause: error,
          },
        );
      }
      await sleep(pauseMs);
    }
  }
}
