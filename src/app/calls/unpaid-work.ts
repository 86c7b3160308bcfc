import type { Tool } from "../../domain/tools/tool.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { Lru } from "../../domain/core/lru.ts";
import type { Metrics } from "../operations/metrics.ts";

/** Uncharged calls per account, tool and hour that an upstream server may work for. */
export const UNPAID_PER_HOUR = 20;

/** Number of charged calls that allow one more uncharged call. */
export const CHARGED_PER_EXTRA = 20;

/** Capacity of the counters, one per account and tool. */
const MOST_COUNTED = 10_000;

/** Counters shared by all instances. */
export interface UnpaidWorkStore {
  /** How long the account's calls of the tool are still refused, ms, from memory; 0: they are allowed. */
  blockedMs(accountId: string, tool: string): number;
  /**
   * Counts one failed call. Does not reject. @param charged charged calls of the account and tool since the
   * last count
   */
  add(accountId: string, tool: string, charged: number): Promise<void>;
}

/**
 * Limits uncharged work: a call that fails after an upstream server worked for it costs the operator, and
 * callers may be able to make their calls fail. Successful calls cause no statement.
 */
export class UnpaidWork {
  readonly #store: UnpaidWorkStore;
  readonly #metrics: Metrics;
  readonly #charged = new Lru<string, number>(MOST_COUNTED);

  constructor(store: UnpaidWorkStore, metrics: Metrics) {
    this.#store = store;
    this.#metrics = metrics;
  }

  /** @throws ToolgateError RATE_LIMITED when the account reached the limit for this tool */
  requireAllowance(accountId: string, tool: string): void {
    const heldMs = this.#store.blockedMs(accountId, tool);
    if (heldMs <= 0) return;
    this.#metrics.count("toolgate_unpaid_work_refused_total", 1, { tool });
    const retryAfterSeconds = Math.ceil(heldMs / 1_000);
    throw new ToolgateError(
      "RATE_LIMITED",
      `${tool}: more than ${UNPAID_PER_HOUR} calls of this account in an hour failed after a server ` +
        `had worked for them, and were not charged; send the next one in ${retryAfterSeconds} s, other ` +
        "tools are not affected; nothing was charged",
      { retryAfterSeconds },
    );
  }

  charged(accountId: string, tool: string): void {
    const pair = `${accountId} ${tool}`;
    this.#charged.set(pair, (this.#charged.get(pair) ?? 0) + 1);
  }

  /** Records a call that failed after an upstream server worked for it. Does not reject. */
  async failed(accountId: string, tool: string): Promise<void> {
    this.#metrics.count("toolgate_unpaid_work_total", 1, { tool });
    const pair = `${accountId} ${tool}`;
    const charged = this.#charged.get(pair) ?? 0;
    this.#charged.delete(pair);
    await this.#store.add(accountId, tool, charged);
  }
}

/** @throws ToolgateError RATE_LIMITED when too many calls of a paid tool failed uncharged for the account */
export function requireAllowance(
  unpaidWork: Pick<UnpaidWork, "requireAllowance">,
  { name, billable }: Pick<Tool, "name" | "billable">,
  accountId: string,
): void {
  if (billable) unpaidWork.requireAllowance(accountId, name);
}
