import type { Clock } from "../domain/core/clock.ts";
import { ToolgateError } from "../domain/core/errors.ts";
import type { ChatModel } from "../domain/tools/chat.ts";

const MINUTE_MS = 60_000;

interface Usage {
  running: number;
  /** When all requests so far would have arrived at the limit's pace, ms (GCRA). */
  due: number;
}

/** Limits requests per minute and concurrent calls of each model, over all callers of this instance. */
export class ModelLimits {
  readonly #clock: Clock;
  readonly #usage = new Map<string, Usage>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Starts a call. @returns the function that ends it. @throws ToolgateError RATE_LIMITED */
  enter({ id, requestsPerMinute, concurrency }: ChatModel): () => void {
    const usage = this.#usage.get(id) ?? { running: 0, due: 0 };
    this.#usage.set(id, usage);
    if (concurrency !== undefined && usage.running >= concurrency)
      throw limited(`${id} runs ${concurrency} calls at once on this instance`, 1);
    if (requestsPerMinute !== undefined) {
      const now = this.#clock.now();
      const due = Math.max(usage.due, now) + MINUTE_MS / requestsPerMinute;
      const waitMs = due - now - MINUTE_MS;
      if (waitMs > 0)
        throw limited(
          `${id} takes ${requestsPerMinute} requests a minute on this instance`,
          Math.ceil(waitMs / 1_000),
        );
      usage.due = due;
    }
    usage.running++;
    return () => void usage.running--;
  }
}

function limited(what: string, retryAfterSeconds: number): ToolgateError {
  return new ToolgateError(
    "RATE_LIMITED",
    `inference: ${what}; nothing was charged, try again in ${retryAfterSeconds} s`,
    { retryAfterSeconds },
  );
}
