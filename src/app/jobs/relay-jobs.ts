import type { Metrics } from "../operations/metrics.ts";
import type { GaslessRelay } from "../payments/gasless/relay.ts";
import { TransactionSubmission, type SubmissionDeps } from "../payments/gasless/transaction-submission.ts";
import type { RelayClaims, RelayClaim } from "../payments/gasless/relay-claims.ts";
import type { RelayChain } from "../payments/gasless/relay-chain.ts";
import { FeePayerMonitor } from "./fee-payer-monitor.ts";
import { finishRelays, type FinishRelaysDeps } from "./finish-relays.ts";
import type { Log } from "../../domain/core/log.ts";
import type { Job } from "./job.ts";

const MINUTE_MS = 60_000;

/** Minimum intervals, ms. */
const [FINISH_MS, FEE_PAYER_MS] = [2_500, 30_000];

export interface RelayJobsOptions {
  readonly relay: Pick<GaslessRelay, "advance" | "feePayer">;
  readonly claims: Pick<RelayClaims, "unfinished" | "spentToday">;
  readonly chain: Pick<RelayChain, "balance">;
  /** GASLESS_LOW_LAMPORTS */
  readonly lowLamports: bigint;
  readonly metrics: Metrics;
  readonly log: Log;
  /** WATCH_INTERVAL_MS: lower bound of all intervals. */
  readonly watchIntervalMs: number;
}

/** Options while the relay is disabled. */
export interface DisabledRelayOptions extends Pick<RelayJobsOptions, "watchIntervalMs"> {
  readonly claims: SubmissionDeps["claims"] & FinishRelaysDeps["claims"];
}

/** Background jobs of the gasless relay. */
export function relayJobs(options: RelayJobsOptions): { jobs: Job[]; everywhere: Job[] } {
  const watch = new FeePayerMonitor(options);
  const feePayer: Job = {
    name: "fee_payer",
    afterMs: 0,
    everyMs: Math.max(options.watchIntervalMs, FEE_PAYER_MS),
    limitMs: MINUTE_MS,
    run: (signal) => watch.check(signal),
  };
  return { jobs: [finishJob(options)], everywhere: [feePayer] };
}

/** Job while the relay is disabled: finishes transactions that were signed before. */
export function disabledRelayJob(options: SubmissionDeps & DisabledRelayOptions): Job {
  const submission = new TransactionSubmission(options);
  const advance = async (claim: RelayClaim, signal: AbortSignal) =>
    (await submission.step(claim, { resend: true, signal })).state;
  return finishJob({ ...options, relay: { advance } });
}

function finishJob({
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
