import { ToolgateError } from "../../domain/core/errors.ts";

/** Maximum tasks of one account, running and waiting. */
const MAX_PENDING = 20;

/**
 * Runs the tasks of each account one at a time. Totals over the whole history are slow, so parallel requests
 * of one account would take every connection.
 */
export class AccountQueue {
  readonly #queues = new Map<string, { length: number; last: Promise<unknown> }>();

  /** @throws ToolgateError UNAVAILABLE when the account's queue is full; any error of `work` */
  async run<Result>(account: string, work: () => Promise<Result>): Promise<Result> {
    const queue = this.#queues.get(account) ?? { length: 0, last: Promise.resolve() };
    if (queue.length >= MAX_PENDING) {
      throw new ToolgateError(
        "UNAVAILABLE",
        "too many of these requests for the account at once; retry in a few seconds",
        { retryAfterSeconds: 5 },
      );
    }
    queue.length++;
    this.#queues.set(account, queue);
    const result = queue.last.then(work);
    queue.last = result.catch(() => {});
    try {
      return await result;
    } finally {
      if (--queue.length === 0) this.#queues.delete(account);
    }
  }
}
