import type { Clock } from "../../domain/core/clock.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { Quotes } from "../../domain/payments/quote.ts";
import {
  failureReason,
  type FailedPayment,
  type ChainStatus,
  type ChainMonitor,
  type CallMinute,
  type OperationsQueries,
} from "./operations-queries.ts";
import type { LastAudit } from "./audit.ts";
import type { ActionFilter, OperatorAction, OperatorActionLog } from "./operator-actions.ts";
import type { Page, PageRequest } from "../../domain/core/page.ts";
import { TreasuryCheck, type TreasuryLedger, type WatchState } from "../treasury/treasury-ledger.ts";

export interface OperationsDeps {
  readonly chain: ChainMonitor;
  readonly queries: OperationsQueries;
  readonly treasuryLedger: Pick<TreasuryLedger, "watch" | "suspended">;
  readonly treasury: { readonly owner: string; readonly tokenAccount: string };
  /** Undefined when the relay is off. */
  readonly feePayer: FeePayerRules | undefined;
  readonly relays: { spentToday(): Promise<bigint> };
  readonly actions: Pick<OperatorActionLog, "list">;
  readonly lastAudit: () => LastAudit | undefined;
  readonly quotes: Pick<Quotes, "open">;
  readonly clock: Clock;
  /** WATCH_INTERVAL_MS. */
  readonly watchIntervalMs: number;
}

export interface FeePayerRules {
  readonly address: string;
  /** GASLESS_LOW_LAMPORTS: warning threshold. */
  readonly lowLamports: bigint;
  /** GASLESS_DAILY_LAMPORTS */
  readonly dailyLamports: bigint;
}

export interface ServiceStatus {
  treasury: {
    owner: string;
    tokenAccount: string;
    held: MicroUsd | undefined;
    watch: WatchState | undefined;
    /** Undefined when everything is right. */
    problem: string | undefined;
  };
  feePayer: (FeePayerRules & { lamports: bigint | undefined; spentToday: bigint }) | undefined;
  endpoints: ChainStatus["endpoints"];
  minutes: CallMinute[];
  activeRuns: number;
  liabilities: MicroUsd;
  revenue: MicroUsd | undefined;
  suspense: { count: number; amount: MicroUsd };
  audit: LastAudit | undefined;
}

export type ExplainedFailure = FailedPayment & { reason: string };

/** How long a status is cached, ms: several pages poll it. */
const FRESH_MS = 2_000;

/**
 * Cache time of expensive queries as a multiple of their duration, which bounds their share of the database.
 */
const REST = 20;

export class Operations {
  readonly #deps: OperationsDeps;
  readonly #problem: TreasuryCheck;
  readonly #status: () => Promise<ServiceStatus>;
  readonly #minutes: () => Promise<CallMinute[]>;
  readonly #revenue: () => Promise<MicroUsd | undefined>;
  readonly #figures: () => ReturnType<OperationsQueries["figures"]>;

  constructor(deps: OperationsDeps) {
    const { queries, clock } = deps;
    this.#deps = deps;
    this.#problem = new TreasuryCheck(deps);
    this.#status = shared(clock, 0, () => this.#readStatus());
    this.#minutes = shared(clock, REST, () => queries.minutes());
    this.#revenue = shared(clock, REST, () => queries.revenue());
    this.#figures = shared(clock, REST, () => queries.figures());
  }

  /** Returns the status, at most two seconds old. Chain outages are reported in it. */
  status(): Promise<ServiceStatus> {
    return this.#status();
  }

  /**
   * Payments that bought no call, newest first. @throws ToolgateError INVALID_REQUEST for an invalid cursor
   */
  async failedPayments(query: PageRequest): Promise<Page<ExplainedFailure>> {
    const { items, nextCursor } = await this.#deps.queries.failedPayments(query);
    return {
      items: items.map((item) => ({ ...item, reason: failureReason(item, this.#deps.quotes) })),
      nextCursor,
    };
  }

  /** Operator actions, newest first. @throws ToolgateError INVALID_REQUEST for an invalid cursor */
  actions(query: PageRequest & ActionFilter): Promise<Page<OperatorAction>> {
    return this.#deps.actions.list(query);
  }

  async #readStatus(): Promise<ServiceStatus> {
    const { chain, treasuryLedger, treasury, feePayer, relays, lastAudit } = this.#deps;
    // Starts the chain query first: the ledger must be read after the chain.
    const checking = chain.check(feePayer?.address);
    const [chainStatus, figures, minutes, revenue, suspense, spentToday] = await Promise.all([
      checking,
      this.#figures(),
      this.#minutes(),
      this.#revenue(),
      treasuryLedger.suspended(),
      feePayer ? relays.spentToday() : 0n,
    ]);
    const watch = await treasuryLedger.watch(treasury.tokenAccount);
    return {
      treasury: {
        ...treasury,
        held: chainStatus.held,
        watch,
        problem: this.#problem.problem(chainStatus.held, watch),
      },
      feePayer: feePayer && { ...feePayer, lamports: chainStatus.lamports, spentToday },
      endpoints: chainStatus.endpoints,
      minutes,
      ...figures,
      revenue,
      suspense,
      audit: lastAudit(),
    };
  }
}

/**
 * Shares one query among concurrent callers and caches its result for two seconds or `rest` times its
 * duration. Failures are not cached.
 */
function shared<Result>(clock: Clock, rest: number, query: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined;
  let cached: { result: Result; at: number; forMs: number } | undefined;
  const run = async () => {
    const since = clock.now();
    const result = await query();
    const at = clock.now();
    cached = { result, at, forMs: Math.max(FRESH_MS, rest * (at - since)) };
    return result;
  };
  return async () => {
    // A clock that was set back keeps nothing fresh for longer.
    if (cached && Math.abs(clock.now() - cached.at) < cached.forMs) return cached.result;
    running ??= run().finally(() => (running = undefined));
    return running;
  };
}
