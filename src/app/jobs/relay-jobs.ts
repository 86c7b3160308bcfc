import type { Metrics } from "../operations/metrics.ts";
import type { GaslessRelay } from "../payments/relay.ts";
import { TransactionSubmission, type SubmissionDeps } from "../payments/transaction-submission.ts";
import type { RelayClaims, RelayClaim } from "../payments/relay-claims.ts";
import type { RelayChain } from "../payments/relay-chain.ts";
import { FeePayerMonitor } from "./fee-payer-monitor.ts";
import { finishRelays, type FinishRelaysDeps } from "./finish-relays.ts";
import type { Log } from "../../domain/core/log.ts";
import type { Job } from "./job.ts";

const MINUTE_MS = 60_000;

/** Paces, ms, where the watch does not go slower. */
const [FINISH_MS, FEE_PAYER_MS] = [2_500, 30_000];

/** What the relay's keeping needs. */
export interface RelayJobsOptions {
  readonly relay: Pick<GaslessRelay, "advance" | "feePayer">;
  readonly claims: Pick<RelayClaims, "unfinished" | "spentToday">;
  readonly chain: Pick<RelayChain, "balance">;
  /** GASLESS_LOW_LAMPORTS */
  readonly lowLamports: bigint;
  readonly metrics: Metrics;
  readonly log: Log;
  /** WATCH_INTERVAL_MS: nothing of it goes faster. */
  readonly watchIntervalMs: number;
}

/** What is needed where gasless is off. */
export interface DisabledRelayOptions extends Pick<RelayJobsOptions, "watchIntervalMs"> {
  readonly claims: SubmissionDeps["claims"] & FinishRelaysDeps["claims"];
}

/** All that is done for the gasless relay beside the calls, and how often. */
export function relayJobs(options: RelayJobsOptions): { works: Job[]; everywhere: Job[] } {
  const watch = new FeePayerMonitor(options);
  const feePayer: Job = {
    name: "fee_payer",
    afterMs: 0,
    everyMs: Math.max(options.watchIntervalMs, FEE_PAYER_MS),
    limitMs: MINUTE_MS,
    run: (signal) => watch.check(signal),
  };
  return { works: [finishWork(options)], everywhere: [feePayer] };
}

/** What is left to do where gasless was switched off: what was signed until then is still sent, and comes to its end. */
export function disabledRelayJob(options: SubmissionDeps & DisabledRelayOptions): Job {
  const passage = new TransactionSubmission(options);
  const advance = async (claim: RelayClaim, signal: AbortSignal) =>
    (await passage.step(claim, { resend: true, signal })).state;
  return finishWork({ ...options, relay: { advance } });
}

function finishWork({
  watchIntervalMs,
  ...deps
}: FinishRelaysDeps & Pick<RelayJobsOptions, "watchIntervalMs">): Job {
  const everyMs = Math.max(watchIntervalMs, FINISH_MS);
  return {
    name: "relay",
    afterMs: everyMs,
    everyMs,
    limitMs: MINUTE_MS,
    run: (signal) => finishRelays(deps, signal),
  };
}
