import type { Metrics } from "../metrics.ts";
import type { GaslessRelay } from "../relay.ts";
import { RelayPassage, type PassageDeps } from "../relay-passage.ts";
import type { RelayBook, RelayChain, RelayClaim } from "../relay-ports.ts";
import { FeePayerWatch } from "./fee-payer-watch.ts";
import { finishRelays, type FinishDeps } from "./finish-relays.ts";
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

/** What is needed where gasless is off. */
export interface FormerRelayOptions extends Pick<RelayWorksOptions, "watchIntervalMs"> {
  readonly book: PassageDeps["book"] & FinishDeps["book"];
}

/** All that is done for the gasless relay beside the calls, and how often. */
export function relayWorks(options: RelayWorksOptions): { works: Work[]; everywhere: Work[] } {
  const watch = new FeePayerWatch(options);
  const feePayer: Work = {
    name: "fee_payer",
    afterMs: 0,
    everyMs: Math.max(options.watchIntervalMs, FEE_PAYER_MS),
    limitMs: MINUTE_MS,
    run: (signal) => watch.look(signal),
  };
  return { works: [finishWork(options)], everywhere: [feePayer] };
}

/** What is left to do where gasless was switched off: what was signed until then is still sent, and comes to its end. */
export function formerRelayWork(options: PassageDeps & FormerRelayOptions): Work {
  const passage = new RelayPassage(options);
  const advance = async (claim: RelayClaim, signal: AbortSignal) =>
    (await passage.step(claim, { resend: true, signal })).state;
  return finishWork({ ...options, relay: { advance } });
}

function finishWork({
  watchIntervalMs,
  ...deps
}: FinishDeps & Pick<RelayWorksOptions, "watchIntervalMs">): Work {
  const everyMs = Math.max(watchIntervalMs, FINISH_MS);
  return {
    name: "relay",
    afterMs: everyMs,
    everyMs,
    limitMs: MINUTE_MS,
    run: (signal) => finishRelays(deps, signal),
  };
}
