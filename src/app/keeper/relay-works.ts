import type { Metrics } from "../metrics.ts";
import type { GaslessRelay } from "../relay.ts";
import type { RelayBook, RelayChain } from "../relay-ports.ts";
import { FeePayerWatch } from "./fee-payer-watch.ts";
import { finishRelays } from "./finish-relays.ts";
import type { Log, Work } from "./work.ts";

const MINUTE_MS = 60_000;

/** Paces, ms, where the watch does not go slower. */
const [FINISH_MS, FEE_PAYER_MS] = [2_500, 30_000];

/** What the relay's keeping needs. */
export interface RelayWorksOptions {
  readonly relay: Pick<GaslessRelay, "advance" | "feePayer">;
  readonly book: Pick<RelayBook, "unfinished" | "spentToday">;
  readonly chain: Pick<RelayChain, "balance">;
  /** GASLESS_LOW_LAMPORTS */
  readonly lowLamports: bigint;
  readonly metrics: Metrics;
  readonly log: Log;
  /** WATCH_INTERVAL_MS: nothing of it goes faster. */
  readonly watchIntervalMs: number;
}

/** All that is done for the gasless relay beside the calls, and how often. */
export function relayWorks(options: RelayWorksOptions): { works: Work[]; everywhere: Work[] } {
  const watch = new FeePayerWatch(options);
  const finishMs = Math.max(options.watchIntervalMs, FINISH_MS);
  const finish: Work = {
    name: "relay",
    afterMs: finishMs,
    everyMs: finishMs,
    limitMs: MINUTE_MS,
    run: (signal) => finishRelays(options, signal),
  };
  const feePayer: Work = {
    name: "fee_payer",
    afterMs: 0,
    everyMs: Math.max(options.watchIntervalMs, FEE_PAYER_MS),
    limitMs: MINUTE_MS,
    run: (signal) => watch.look(signal),
  };
  return { works: [finish], everywhere: [feePayer] };
}
