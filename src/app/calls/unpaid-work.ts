import { ToolgateError } from "../../domain/core/errors.ts";
import { Lru } from "../../domain/core/lru.ts";
import type { Metrics } from "../operations/metrics.ts";

/** Calls of one account and tool in an hour that a server may work for without being charged. */
export const UNPAID_PER_HOUR = 20;

/** Charged calls that allow one more. */
export const CHARGED_PER_EXTRA = 20;

/** Pairs of account and tool whose charged calls are counted. */
const MOST_COUNTED = 10_000;

/** Counts over all instances. */
export interface UnpaidWorkStore {
  /** Milliseconds for which the account's calls of the tool are refused, from memory; 0: they are not. */
  blockedMs(accountId: string, tool: string): number;
  /** Counts one. Does not reject. @param charged calls of both that were charged since the last count */
  add(accountId: string, tool: string, charged: number): Promise<void>;
}

/**
 * Limits work that is done and not charged: a call that fails after a server outside has worked for it costs the operator, and a caller may
 * be able to make its calls fail. What succeeds costs no statement.
 */
export class UnpaidWork {
  readonly #store: UnpaidWorkStore;
  readonly #metrics: Metrics;
  readonly #charged = new Lru<string, number>(MOST_COUNTED);

  constructor(store: UnpaidWorkStore, metrics: Metrics) {
    this.#store = store;
    this.#metrics = metrics;
  }

  /** @throws ToolgateError RATE_LIMITED for an account that has had too much of it */
  requireAllowance(accountId: string, tool: string): void {
    const heldMs = this.#store.blockedMs(accountId, tool);
    if (heldMs <= 0) return;
    this.#metrics.count("toolgate_unpaid_work_refused_total", 1, { tool });
    const retryAfterSeconds = Math.ceil(heldMs / 1_000);
    throw new ToolgateError(
      "RATE_LIMITED",
      `${tool}: more than ${UNPAID_PER_HOUR} calls of this account in an hour failed after a server had worked for them, and were not charged; send the next one in ${retryAfterSeconds} s, other tools are not affected; nothing was charged`,
      { retryAfterSeconds },
    );
  }

  /** A call was charged. */
  charged(accountId: string, tool: string): void {
    const pair = `${accountId} ${tool}`;
    this.#charged.set(pair, (this.#charged.get(pair) ?? 0) + 1);
  }

  /** A call failed after a server had worked for it. Does not reject. */
  async failed(accountId: string, tool: string): Promise<void> {
    this.#metrics.count("toolgate_unpaid_work_total", 1, { tool });
    const pair = `${accountId} ${tool}`;
    const charged = this.#charged.get(pair) ?? 0;
    this.#charged.delete(pair);
    await this.#store.add(accountId, tool, charged);
  }
}
