import { ToolgateError } from "../domain/errors.ts";

/** Those of one account that may be there at once: one that works, and others that wait. */
const MAX_PENDING = 20;

/**
 * Does what each account asks for one after the other. What is added up over all that an account ever did takes as long as that is much,
 * and whoever asks for it many times at once would keep all connections from everybody else.
 */
export class AccountQueue {
  readonly #lines = new Map<string, { length: number; last: Promise<unknown> }>();

  /** @throws ToolgateError UNAVAILABLE when too many of the account wait; whatever `work` throws */
  async run<Result>(account: string, work: () => Promise<Result>): Promise<Result> {
    const line = this.#lines.get(account) ?? { length: 0, last: Promise.resolve() };
    if (line.length >= MAX_PENDING) {
      throw new ToolgateError(
        "UNAVAILABLE",
        "the account asks for this too often at once; try again in a moment",
        {
          retryAfterSeconds: 5,
        },
      );
    }
    line.length++;
    this.#lines.set(account, line);
    const turn = line.last.then(work);
    line.last = turn.catch(() => {});
    try {
      return await turn;
    } finally {
      if (--line.length === 0) this.#lines.delete(account);
    }
  }
}
