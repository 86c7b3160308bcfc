import type { Clock } from "../../domain/clock.ts";
import type { Quotes } from "../../domain/quote.ts";
import type { Audit } from "../audit.ts";
import type { DepositOwners } from "../deposit-ports.ts";
import type { Metrics } from "../metrics.ts";
import type { TreasuryBooks, TreasuryChain } from "../treasury-ports.ts";
import { auditRound } from "./audit-round.ts";
import { tellFigures } from "./figures.ts";
import { Finality } from "./finality.ts";
import { Reconciliation } from "./reconcile.ts";
import { newSettled } from "./record-history.ts";
import { rescanHistory } from "./rescan-history.ts";
import { watchTreasury } from "./watch-treasury.ts";
import type { Log, Work } from "./work.ts";

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000];

/** What the works need. */
export interface TreasuryWorksOptions {
  readonly chain: TreasuryChain;
  readonly books: TreasuryBooks;
  readonly quotes: Pick<Quotes, "open">;
  readonly deposits: DepositOwners;
  readonly audit: Audit;
  readonly memoPrefix: string;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  /** WATCH_INTERVAL_MS: the pause between two looks at the treasury; the paces of all works but the audit follow it. */
  readonly watchIntervalMs: number;
  /** AUDIT_INTERVAL_SECONDS; 0: no audit. */
  readonly auditIntervalSeconds: number;
}

/** All that is done for the treasury, and how often. */
export function treasuryWorks(options: TreasuryWorksOptions): { works: Work[]; everywhere: Work[] } {
  const audit = options.auditIntervalSeconds > 0 ? [auditWork(options)] : [];
  return {
    works: [...historyWorks({ ...options, settled: newSettled() }), finalityWork(options), ...audit],
    everywhere: [figuresWork(options)],
  };
}

function historyWorks(deps: TreasuryWorksOptions & { settled: ReturnType<typeof newSettled> }): Work[] {
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
      // Each time another node, but not the one that the watch asks first, unless there is no other.
      run: (signal) =>
        rescanHistory(deps, { windowMs, turn: 1 + (rescans++ % Math.max(1, chain.endpoints - 1)) }, signal),
    },
    {
      name: "reconcile",
      ...every(watchIntervalMs, 12, MINUTE_MS / 2),
      limitMs: HOUR_MS,
      run: (signal) => reconciliation.run(signal),
      ended: () => metrics.set("toolgate_treasury_difference_microusd", 0),
    },
  ];
}

function finalityWork(deps: TreasuryWorksOptions): Work {
  const finality = new Finality(deps);
  const pace = every(deps.watchIntervalMs, 2, 5_000);
  return { name: "finality", ...pace, limitMs: 5 * MINUTE_MS, run: (signal) => finality.run(signal) };
}

function auditWork(deps: TreasuryWorksOptions): Work {
  const everyMs = deps.auditIntervalSeconds * 1_000;
  return {
    name: "audit",
    // Soon after the lead is taken, so that instances which never live for an interval audit too.
    afterMs: Math.min(MINUTE_MS, everyMs),
    everyMs,
    limitMs: 24 * HOUR_MS,
    run: (signal) => auditRound(deps, signal),
  };
}

function figuresWork(deps: TreasuryWorksOptions): Work {
  const { everyMs } = every(deps.watchIntervalMs, 2, 5_000);
  return {
    name: "figures",
    afterMs: 0,
    everyMs,
    limitMs: MINUTE_MS,
    run: (signal) => tellFigures(deps, signal),
  };
}

/** After so many looks, but not later than `mostMs` while looks come more often than that. */
function every(watchIntervalMs: number, looks: number, mostMs: number): Pick<Work, "afterMs" | "everyMs"> {
  const everyMs = Math.max(watchIntervalMs, Math.min(looks * watchIntervalMs, mostMs));
  return { afterMs: everyMs, everyMs };
}
