import { formatUsdc, type MicroUsd } from "../../domain/core/money.ts";
import type { TreasuryChain } from "../treasury/treasury-chain.ts";
import { type Events, OPERATORS } from "../webhooks/webhook-endpoints.ts";
import type { WatchState } from "../treasury/treasury-ledger.ts";
import { newSettledTransactions } from "./record-history.ts";
import { rescanHistory, type RescanDeps } from "./rescan-history.ts";
import { watchTreasury } from "./watch-treasury.ts";

/** Consecutive runs with a difference before it is reported: nodes may lag behind each other. */
const IN_A_ROW = 3;

/** Minimum interval between two reads of the whole history, ms. */
const WHOLE_HISTORY_MS = 3_600_000;

export interface ReconcileDeps extends RescanDeps {
  readonly chain: RescanDeps["chain"] & Pick<TreasuryChain, "balance">;
  readonly events: Pick<Events, "addDaily">;
}

/** Compares the treasury's balance on the chain with the ledger. */
export class Reconciliation {
  readonly #deps: ReconcileDeps;
  #seen = 0;
  #reported: MicroUsd = 0n;
  #readWholeAt = Number.NEGATIVE_INFINITY;
  #rescans = 0;

  constructor(deps: ReconcileDeps) {
    this.#deps = deps;
  }

  /**
   * Compares once. Reports a persistent difference and reads the whole history again from another node, at
   * most once an hour.
   * @returns chain minus ledger, micro-USD; undefined when money moved in the meantime
   */
  async run(signal: AbortSignal): Promise<MicroUsd | undefined> {
    const difference = await this.#difference(signal);
    signal.throwIfAborted();
    if (difference === undefined) return undefined;
    this.#deps.metrics.set("toolgate_treasury_difference_microusd", Number(difference));
    this.#seen = difference === 0n ? 0 : this.#seen + 1;
    if (difference === 0n || this.#seen >= IN_A_ROW) await this.#report(difference);
    if (this.#seen >= IN_A_ROW) await this.#readWhole(signal);
    return difference;
  }

  async #difference(signal: AbortSignal): Promise<MicroUsd | undefined> {
    const { ledger, chain } = this.#deps;
    const before = await ledger.watch(chain.tokenAccount);
    const balance = await chain.balance(signal);
    const news = await watchTreasury(this.#deps, signal);
    const after = await ledger.watch(chain.tokenAccount);
    if (!before || !after || news.length > 0 || moved(before, after)) return undefined;
    return balance - after.expected;
  }

  async #report(difference: MicroUsd): Promise<void> {
    if (difference === this.#reported) return;
    const { log, events } = this.#deps;
    const details = { difference_usdc: formatUsdc(difference) };
    if (difference === 0n) log.info(details, "treasury balance matches the ledger");
    else {
      log.error(details, "treasury balance differs from the ledger");
      const data = { difference_usdc_microusd: Number(difference) };
      await events.addDaily(OPERATORS, "treasury.difference", data, String(difference));
    }
    this.#reported = difference;
  }

  async #readWhole(signal: AbortSignal): Promise<void> {
    const now = this.#deps.clock.now();
    if (now - this.#readWholeAt < WHOLE_HISTORY_MS) return;
    this.#readWholeAt = now;
    this.#rescans += 1;
    // Ignores the cache, so that everything is checked again.
    await rescanHistory(
      { ...this.#deps, settled: newSettledTransactions() },
      { firstEndpoint: this.#rescans },
      signal,
    );
  }
}

function moved(before: WatchState, after: WatchState): boolean {
  return before.slot !== after.slot || before.expected !== after.expected;
}
