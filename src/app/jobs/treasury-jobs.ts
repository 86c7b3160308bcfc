import type { Clock } from "../../domain/core/clock.ts";
import type { Quotes } from "../../domain/payments/quote.ts";
import type { WalletAccounts } from "../accounts/accounts.ts";
import type { Audit, AuditFinding, FullAudit } from "../operations/audit.ts";
import type { DepositAccounts } from "../deposits/deposits.ts";
import type { Metrics } from "../operations/metrics.ts";
import { type Events, OPERATORS } from "../webhooks/webhook-endpoints.ts";
import type { TreasuryLedger, TreasuryChain } from "../treasury/treasury-ledger.ts";
import type { NetworkFinality } from "../payments/payment-methods.ts";
import { FinalityTracker } from "./finality-tracker.ts";
import { Reconciliation, rescanHistory, watchTreasury } from "./reconciliation.ts";
import { newSettledTransactions } from "./record-history.ts";
import type { Log } from "../../domain/core/log.ts";
import type { Job } from "./job.ts";

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000];

export interface TreasuryJobsOptions {
  readonly chain: TreasuryChain;
  /** Networks of the payment methods. */
  readonly networks: ReadonlyMap<string, NetworkFinality>;
  readonly ledger: TreasuryLedger;
  readonly quotes: Pick<Quotes, "find">;
  readonly deposits: DepositAccounts;
  readonly wallets: Pick<WalletAccounts, "open">;
  readonly audit: Audit;
  readonly fullAudit: FullAudit;
  readonly events: Pick<Events, "addDaily">;
  readonly memoPrefix: string;
  readonly cell?: number;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  /**
   * WATCH_INTERVAL_MS: interval of the treasury watch. All other intervals except the audit's derive from it.
   */
  readonly watchIntervalMs: number;
  /** AUDIT_INTERVAL_SECONDS; 0 disables the audit. */
  readonly auditIntervalSeconds: number;
}

/** Treasury jobs with their schedules. */
export function treasuryJobs(options: TreasuryJobsOptions): { jobs: Job[]; everywhere: Job[] } {
  const audit = options.auditIntervalSeconds > 0 ? auditWorks(options) : [];
  return {
    jobs: [
      ...historyWorks({ ...options, settled: newSettledTransactions() }),
      finalityWork(options),
      ...audit,
    ],
    everywhere: [figuresWork(options)],
  };
}

function historyWorks(
  deps: TreasuryJobsOptions & { settled: ReturnType<typeof newSettledTransactions> },
): Job[] {
  const { chain, metrics, watchIntervalMs } = deps;
  const reconciliation = new Reconciliation(deps);
  const rescan = every(watchIntervalMs, 24, MINUTE_MS);
  const windowMs = Math.max(HOUR_MS, 2 * rescan.everyMs);
  let rescans = 0;
  return [
    {
      name: "watch",
      afterMs: 0,
      everyMs: watchIntervalMs,
      limitMs: 10 * MINUTE_MS,
      run: (signal) => watchTreasury(deps, signal),
    },
    {
      name: "rescan",
      ...rescan,
      limitMs: 10 * MINUTE_MS,
      // Another node each time, except the watch's first choice unless it is the only one.
      run: (signal) =>
        rescanHistory(
          deps,
          { windowMs, firstEndpoint: 1 + (rescans++ % Math.max(1, chain.endpoints - 1)) },
          signal,
        ),
    },
    {
      name: "reconcile",
      ...every(watchIntervalMs, 12, MINUTE_MS / 2),
      limitMs: HOUR_MS,
      run: (signal) => reconciliation.run(signal),
      onLeadershipLost: () => metrics.set("toolgate_treasury_difference_microusd", 0),
    },
  ];
}

function finalityWork(deps: TreasuryJobsOptions): Job {
  const finality = new FinalityTracker(deps);
  const pace = every(deps.watchIntervalMs, 2, 5_000);
  return { name: "finality", ...pace, limitMs: 5 * MINUTE_MS, run: (signal) => finality.run(signal) };
}

/** The pause between slices leaves the database to the calls. */
const SLICE_MS = 30_000;

function auditWorks(deps: TreasuryJobsOptions): Job[] {
  const everyMs = deps.auditIntervalSeconds * 1_000;
  const sliceMs = Math.min(SLICE_MS, everyMs);
  return [
    {
      name: "audit",
      // Soon after becoming leader, so that short-lived instances audit too.
      afterMs: Math.min(MINUTE_MS, everyMs),
      everyMs,
      limitMs: 24 * HOUR_MS,
      run: (signal) => runAudit(deps, signal),
    },
    {
      name: "full_audit",
      afterMs: sliceMs,
      everyMs: sliceMs,
      limitMs: 24 * HOUR_MS,
      run: (signal) => runFullAudit(deps, signal),
    },
  ];
}

function figuresWork(deps: TreasuryJobsOptions): Job {
  const { everyMs } = every(deps.watchIntervalMs, 2, 5_000);
  return {
    name: "figures",
    afterMs: 0,
    everyMs,
    limitMs: MINUTE_MS,
    run: (signal) => reportTreasuryMetrics(deps, signal),
  };
}

/** Every `intervals` watch intervals, at most `mostMs` unless the watch itself is slower. */
function every(watchIntervalMs: number, intervals: number, mostMs: number): Pick<Job, "afterMs" | "everyMs"> {
  const everyMs = Math.max(watchIntervalMs, Math.min(intervals * watchIntervalMs, mostMs));
  return { afterMs: everyMs, everyMs };
}

interface AuditDeps {
  readonly audit: Audit;
  readonly fullAudit: FullAudit;
  readonly clock: Clock;
  readonly events: Pick<Events, "addDaily">;
  readonly metrics: Metrics;
  readonly log: Log;
}

/**
 * Audits what changed once, and reports every violated invariant, to operators' webhooks once a day. What the
 * audit of all history found stays in the metric until it is found no more.
 */
export async function runAudit(deps: AuditDeps, signal: AbortSignal): Promise<void> {
  const { audit, fullAudit, clock, metrics } = deps;
  const findings = await audit(signal);
  const last = await fullAudit.last();
  signal.throwIfAborted();
  const found = new Map(Object.entries(last?.violations ?? {}));
  for (const { name, violations } of findings)
    found.set(name, Math.max(Number(violations), found.get(name) ?? 0));
  for (const [invariant, violations] of found)
    metrics.set("toolgate_audit_violations", violations, { invariant });
  metrics.set("toolgate_audit_timestamp_seconds", Math.floor(clock.now() / 1_000));
  await reportViolations(deps, findings);
}

/** Runs the next slice of the audit of all history. */
export async function runFullAudit(deps: AuditDeps, signal: AbortSignal): Promise<void> {
  const { fullAudit, metrics } = deps;
  const finding = await fullAudit.next(signal);
  const last = await fullAudit.last();
  signal.throwIfAborted();
  if (last) metrics.set("toolgate_full_audit_timestamp_seconds", Math.floor(last.at.getTime() / 1_000));
  if (finding) await reportViolations(deps, [finding]);
}

async function reportViolations(
  { events, log }: Pick<AuditDeps, "events" | "log">,
  findings: readonly AuditFinding[],
): Promise<void> {
  const violated = findings.filter(({ violations }) => violations > 0n);
  for (const { name, description, violations } of violated)
    log.error(
      { invariant: name, violations: Number(violations) },
      `the audit found a violation: ${description}`,
    );
  for (const { name, description, violations } of violated) {
    const data = { invariant: name, description, violations: Number(violations) };
    await events.addDaily(OPERATORS, "audit.violation", data, name);
  }
}

interface TreasuryMetricsDeps {
  readonly chain: Pick<TreasuryChain, "tokenAccount">;
  readonly ledger: Pick<TreasuryLedger, "installedAt" | "watch" | "suspended">;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** Reports the treasury's metrics. Runs on every instance, so that they exist without a leader. */
export async function reportTreasuryMetrics(
  { chain, ledger, clock, metrics }: TreasuryMetricsDeps,
  signal: AbortSignal,
): Promise<void> {
  const [watch, suspended] = await Promise.all([ledger.watch(chain.tokenAccount), ledger.suspended()]);
  // Before the first watch, its age is that of the installation.
  const checkedAt = watch?.checkedAt ?? (await ledger.installedAt());
  signal.throwIfAborted();
  metrics.set("toolgate_watch_age_seconds", Math.max(0, clock.now() - checkedAt.getTime()) / 1_000);
  metrics.set("toolgate_suspense_transfers", suspended.count);
  metrics.set("toolgate_suspense_microusd", Number(suspended.amount));
}
