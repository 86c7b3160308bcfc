import type { Metrics } from "../operations/metrics.ts";
import type { GaslessRelay } from "../payments/gasless/relay.ts";
import { TransactionSubmission, type SubmissionDeps } from "../payments/gasless/transaction-submission.ts";
import type { RelayClaims, RelayClaim } from "../payments/gasless/relay-claims.ts";
import type { RelayChain } from "../payments/gasless/relay-port.ts";
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

export interface DisabledRelayOptions extends Pick<RelayJobsOptions, "watchIntervalMs"> {
  readonly claims: SubmissionDeps["claims"] & FinishRelaysDeps["claims"];
}

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

/** Idle time of a claim before it is taken over, ms: the instance that submits it would have moved it. */
const IDLE_MS = 3_000;

/** Claims per run, and how many concurrently. */
const [MOST, AT_ONCE] = [256, 8];

interface FinishRelaysDeps {
  readonly relay: Pick<GaslessRelay, "advance">;
  readonly claims: Pick<RelayClaims, "unfinished">;
}

/**
 * Advances relayed payments that no instance is submitting: the instance may be gone, or the caller did not
 * return. The treasury watch credits the payment, or the repeated call does. A failure does not affect the
 * other claims.
 * @throws AggregateError after all claims were tried
 */
async function finishRelays({ relay, claims }: FinishRelaysDeps, signal: AbortSignal): Promise<void> {
  const unfinished = await claims.unfinished(IDLE_MS, MOST);
  const failures: unknown[] = [];
  for (let at = 0; at < unfinished.length; at += AT_ONCE) {
    const advanced = unfinished.slice(at, at + AT_ONCE).map((claim) => relay.advance(claim, signal));
    for (const outcome of await Promise.allSettled(advanced)) {
      if (outcome.status === "rejected") failures.push(outcome.reason);
    }
    signal.throwIfAborted();
  }
  if (failures.length === 0) return;
  throw new AggregateError(
    failures,
    `${failures.length} of ${unfinished.length} relayed payments could not be finished`,
  );
}

interface FeePayerMonitorDeps {
  readonly relay: { readonly feePayer: string };
  readonly claims: Pick<RelayClaims, "spentToday">;
  readonly chain: Pick<RelayChain, "balance">;
  /** GASLESS_LOW_LAMPORTS */
  readonly lowLamports: bigint;
  readonly metrics: Metrics;
  readonly log: Log;
}

/**
 * Reports the relay's spending of today and the fee payer's balance, and warns once when the balance is low.
 */
class FeePayerMonitor {
  readonly #deps: FeePayerMonitorDeps;
  #low = false;

  constructor(deps: FeePayerMonitorDeps) {
    this.#deps = deps;
  }

  async check(signal: AbortSignal): Promise<void> {
    const { relay, claims, chain, metrics } = this.#deps;
    metrics.set("toolgate_relay_lamports_today", Number(await claims.spentToday()));
    const lamports = await chain.balance(relay.feePayer, signal);
    signal.throwIfAborted();
    metrics.set("toolgate_fee_payer_lamports", Number(lamports));
    this.#report(lamports);
  }

  #report(lamports: bigint): void {
    const { relay, lowLamports, log } = this.#deps;
    const low = lamports < lowLamports;
    if (low === this.#low) return;
    this.#low = low;
    const details = {
      fee_payer: relay.feePayer,
      lamports: Number(lamports),
      low_lamports: Number(lowLamports),
    };
    if (low)
      log.warn(details, "the fee payer's SOL is low: send it some, or no more payments can be relayed");
    else log.info(details, "the fee payer holds enough SOL again");
  }
}
