import type { Clock } from "../../domain/core/clock.ts";
import { formatUsdc, type MicroUsd } from "../../domain/core/money.ts";
import type { WatchState } from "./treasury-ledger.ts";

export interface TreasuryCheckDeps {
  readonly clock: Clock;
  /** WATCH_INTERVAL_MS. */
  readonly watchIntervalMs: number;
}

const MINUTE_MS = 60_000;

/** How long a difference must last while the watch advances, ms: a shorter one may be a new payment. */
const SETTLED_MS = 10_000;

/** Finds problems of the treasury. Remembers differences: one that the watch resolves is not reported. */
export class TreasuryCheck {
  readonly #deps: TreasuryCheckDeps;
  #seen: { held: MicroUsd; expected: MicroUsd; checkedAt: number } | undefined;

  constructor(deps: TreasuryCheckDeps) {
    this.#deps = deps;
  }

  /**
   * @param held finalized balance on the chain, micro-USD; undefined when no endpoint answers
   * @param watch read from the ledger after `held`; undefined before the first watch
   * @returns undefined when everything is right
   */
  problem(held: MicroUsd | undefined, watch: WatchState | undefined): string | undefined {
    if (!watch) return "The treasury is not watched yet: no instance has been able to read its history.";
    const { clock, watchIntervalMs } = this.#deps;
    const idleMs = clock.now() - watch.checkedAt.getTime();
    if (idleMs > Math.max(2 * MINUTE_MS, 3 * watchIntervalMs)) {
      return (
        `The treasury's history was last read ${Math.floor(idleMs / MINUTE_MS)} minutes ago: payments ` +
        "since then are not found."
      );
    }
    if (held === undefined) return "No endpoint returns the treasury's balance.";
    return this.#difference(held, watch);
  }

  #difference(held: MicroUsd, { expected, checkedAt }: WatchState): string | undefined {
    const difference = held - expected;
    if (difference === 0n) this.#seen = undefined;
    if (difference === 0n) return undefined;
    if (this.#seen?.held !== held || this.#seen.expected !== expected) {
      this.#seen = { held, expected, checkedAt: checkedAt.getTime() };
    }
    if (checkedAt.getTime() - this.#seen.checkedAt < SETTLED_MS) return undefined;
    return difference > 0n
      ? `The treasury holds ${formatUsdc(difference)} USDC more than the ledger says.`
      : `The treasury holds ${formatUsdc(-difference)} USDC less than the ledger says.`;
  }
}
