import type {
  AuthorizeResult,
  CallAuthorization,
  CompletedRun,
  CountedCall,
  FailedRun,
  RunEnd,
  RunEndResult,
  Ledger,
  LimitRefusal,
  PriorOutcome,
  PriorQuery,
} from "../../app/calls/ledger.ts";
import type { Metrics } from "../../app/operations/metrics.ts";
import type { VerifiedTransfer } from "../../app/payments/payment-methods.ts";
import { NO_CELL, type Cell } from "../../domain/core/ids.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import { Batcher, type RETRY, batchObserver } from "../database/batcher.ts";
import { InsufficientFunds, KeyLimits } from "./insufficient-funds.ts";
import type { Leases } from "./leases.ts";
import {
  CAPTURE_MODEL_RUNS,
  CAPTURE_RUNS,
  captureResults,
  captureValues,
  isBalanceCall,
  START_CALLS,
  startValues,
  END_MODEL_RUNS,
  END_RUNS,
  modelValues,
} from "./start-and-capture.ts";
import type { Capture, CapturedRow } from "./start-and-capture.ts";
import {
  withArchivedReceipt,
  authorizeResultOf,
  callRecord,
  endingRecord,
  endResultOf,
  inOrder,
  next,
  priorOf,
  priorRecord,
  resultText,
} from "./records.ts";
import type { ArchivedReceipt, AuthorizeRow, EndRow, PriorRow } from "./records.ts";
import { claimKey, exclusiveKeys, isKeyedCall } from "./claims.ts";
import type { ReplayCache } from "./replay-cache.ts";
import { RETRY_MS, queryWithRetry } from "../database/retry.ts";
import { referenceFrom, idFromUuid, uuidFromId } from "../database/row-mapping.ts";
import type { Parts } from "../database/parts.ts";

export interface LedgerOptions extends Pick<Parts, "pool" | "instanceId" | "leaseMs"> {
  leases: Leases;
  metrics?: Metrics;
  /** Reports calls of accounts that another cell has. */
  cell?: Cell;
  /** Recent results; without it, every repeat queries the database. */
  replayCache?: ReplayCache;
  archivedReceipt?: ArchivedReceipt;
}

const STARTED: AuthorizeResult = { kind: "started" };

/** Maximum calls per transaction. */
const BATCH = 200;

/** Concurrent transactions of each kind, for different accounts. */
const LANES = 2;

/** The end of a run, the call that this instance started it for, and its stored result, if any. */
interface Ending {
  readonly end: RunEnd;
  readonly call: CallAuthorization | undefined;
  readonly stored: string | undefined;
}

/**
 * The ledger on PostgreSQL. The SQL functions `ledger_*` hold the rules; this class batches calls and retries
 * after lost responses. Retries are safe: each call is identified by its run.
 */
export class PostgresLedger implements Ledger {
  readonly #options: LedgerOptions;
  readonly #priorBatcher: Batcher<PriorQuery, { prior: PriorOutcome }>;
  readonly #authorizeBatcher: Batcher<CallAuthorization, AuthorizeResult>;
  readonly #endBatcher: Batcher<Ending, RunEndResult>;
  readonly #insufficientFunds: InsufficientFunds;
  readonly #limits: KeyLimits;
  /** Authorized calls of this instance that still run. Emptied at their end: V8 keeps what a Map held. */
  readonly #activeCalls = new Map<string, { call: CallAuthorization | undefined }>();

  constructor(options: LedgerOptions) {
    this.#options = options;
    const patienceMs = RETRY_MS;
    this.#insufficientFunds = new InsufficientFunds(options.pool);
    this.#limits = new KeyLimits(options.pool);
    this.#priorBatcher = new Batcher({
      max: BATCH,
      retryMs: patienceMs,
      onBatch: batchObserver("prior", options.metrics),
      name: "ledger prior",
      spanOf: ({ span }) => span,
      run: (queries, forMs) => this.#priorAll(queries, forMs),
    });
    this.#authorizeBatcher = new Batcher({
      max: BATCH,
      lanes: LANES,
      keys: exclusiveKeys,
      lane: ({ accountId }) => accountId,
      retryMs: patienceMs,
      onBatch: batchObserver("authorize", options.metrics),
      name: "ledger authorize",
      spanOf: ({ span }) => span,
      run: (calls, forMs) => this.#authorizeAll(calls, forMs),
    });
    this.#endBatcher = new Batcher({
      max: BATCH,
      lanes: LANES,
      keys: ({ end: { runId } }) => [runId],
      lane: ({ end: { runId } }) => runId,
      onBatch: batchObserver("capture", options.metrics),
      name: "ledger capture",
      spanOf: ({ end: { span } }) => span,
      // Retries the end of a run for as long as its lease lasts.
      retryMs: Math.max(RETRY_MS, options.leaseMs),
      run: (endings, forMs) => this.#endAll(endings, forMs),
    });
  }

  async findPrior(query: PriorQuery): Promise<PriorOutcome> {
    const { prior } = await this.#priorBatcher.submit(query);
    return prior && withArchivedReceipt(this.#options.archivedReceipt, query.accountId, prior);
  }

  async authorize(call: CallAuthorization): Promise<AuthorizeResult> {
    const cached = isKeyedCall(call) ? this.#options.replayCache?.find(call) : undefined;
    if (cached) return cached;
    const insufficient = await this.#insufficientFunds.find(call);
    if (insufficient) return insufficient;
    const decided = await this.#authorizeWithLease(call);
    const authorized = await withArchivedReceipt(this.#options.archivedReceipt, call.accountId, decided);
    this.#insufficientFunds.note(call, authorized);
    // The same payment bought the result under another key: bind this key to that result too.
    if (authorized.kind === "replay" && call.payment && call.idempotencyKey !== undefined) {
      await this.findPrior({ ...call, ...call.payment });
    }
    if (authorized.kind === "started") this.#activeCalls.set(call.runId, { call });
    if (authorized.kind === "capped" && !authorized.limit.reported) await this.#limits.reportExhausted(call);
    return authorized;
  }

  /** Adds the lease first: the database may start the run while this process stalls. */
  async #authorizeWithLease(call: CallAuthorization): Promise<AuthorizeResult> {
    const { leases } = this.#options;
    const run = uuidFromId("run", call.runId);
    leases.add(run);
    try {
      const authorized = await this.#authorizeBatcher.submit(call);
      if (authorized.kind !== "started") leases.remove(run);
      return authorized;
    } catch (error) {
      leases.remove(run);
      throw error;
    }
  }

  capture(run: CompletedRun): Promise<RunEndResult> {
    return this.#end(run);
  }

  release(run: FailedRun): Promise<RunEndResult> {
    return this.#end(run);
  }

  async #end(end: RunEnd): Promise<RunEndResult> {
    const active = this.#activeCalls.get(end.runId);
    const call = active?.call;
    // The result of a call without a claim cannot be requested again, so it is not stored.
    const stored = call && claimKey(call) === undefined ? undefined : resultText(end);
    const cacheResult = this.#cacheWriter(call, stored);
    try {
      const ended = await this.#endBatcher.submit({ end, call, stored });
      if (ended.kind === "captured") cacheResult?.(ended.receipt);
      return ended;
    } finally {
      this.#options.leases.remove(uuidFromId("run", end.runId));
      this.#activeCalls.delete(end.runId);
      if (active) active.call = undefined;
    }
  }

  #cacheWriter(authorized: CallAuthorization | undefined, stored: string | undefined) {
    if (!authorized || stored === undefined || !isKeyedCall(authorized)) return undefined;
    return this.#options.replayCache?.prepare(authorized, stored);
  }

  async credit(
    accountId: string,
    deposit: VerifiedTransfer,
  ): Promise<{ credited: boolean; balance: MicroUsd }> {
    const rows = await this.#query<{ credited: boolean }>(
      "ledger-credit",
      "select ledger_credit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) as credited",
      [
        uuidFromId("acct", accountId),
        deposit.network,
        referenceFrom(deposit),
        deposit.amount,
        deposit.quoteId,
        deposit.payer,
        deposit.slot,
        deposit.blockTime,
        deposit.finalized,
        deposit.paidBy,
      ],
    );
    return { credited: rows[0]?.credited === true, balance: await this.balance(accountId) };
  }

  async balance(accountId: string): Promise<MicroUsd> {
    const rows = await this.#query<{ available: bigint }>(
      "ledger-balance",
      "select available from account where id = $1",
      [uuidFromId("acct", accountId)],
    );
    if (!rows[0]) throw new ToolgateError("NOT_FOUND", "there is no such account");
    return rows[0].available;
  }

  refusalOf(call: CountedCall): Promise<LimitRefusal | undefined> {
    return this.#limits.refusalOf(call);
  }

  isAllowedOnce(call: CountedCall & Pick<CallAuthorization, "fingerprint">): Promise<boolean> {
    return this.#limits.isAllowedOnce(call);
  }

  async #priorAll(queries: readonly PriorQuery[], forMs: number): Promise<{ prior: PriorOutcome }[]> {
    const rows = await this.#query<PriorRow>(
      "ledger-prior",
      `select prior.n, prior.kind, prior.result, prior.payment_claim, prior.moved_to, prior.replayed_run,
         (prior.receipt).*
       from ledger_prior(array(select call
         from json_populate_recordset(null::ledger_call, $1) call)) prior`,
      [JSON.stringify(queries.map(priorRecord))],
      forMs,
    );
    for (const { kind, moved_to } of rows) if (kind === "frozen") this.#reportMoved(moved_to);
    return inOrder(rows, (row) => ({ prior: priorOf(row) }));
  }

  /** Starts what the balance covers; ledger_authorize decides the rest. */
  async #authorizeAll(
    calls: readonly CallAuthorization[],
    forMs: number,
  ): Promise<(AuthorizeResult | typeof RETRY)[]> {
    const started = await this.#start(calls.filter(isBalanceCall), forMs);
    const isStarted = ({ runId }: CallAuthorization) => started.has(runId);
    const others = calls.filter((call) => !isStarted(call));
    const answers = others.length === 0 ? [] : await this.#decide(others, forMs);
    return calls.map((call) => (isStarted(call) ? STARTED : next(answers)));
  }

  async #start(calls: readonly CallAuthorization[], forMs: number): Promise<ReadonlySet<string>> {
    if (calls.length === 0) return new Set();
    const { instanceId, leaseMs } = this.#options;
    const [row] = await this.#query<{ started: string[] }>(
      "ledger-start",
      START_CALLS,
      startValues(calls, instanceId, leaseMs),
      forMs,
    );
    return new Set(row?.started.map((run) => idFromUuid("run", run)));
  }

  async #decide(
    calls: readonly CallAuthorization[],
    forMs: number,
  ): Promise<(AuthorizeResult | typeof RETRY)[]> {
    const rows = await this.#query<AuthorizeRow>(
      "ledger-authorize",
      `select authorized.n, authorized.kind, authorized.balance, authorized.result,
         authorized.replayed_run, (authorized.receipt).*
       from ledger_authorize(array(select call
         from json_populate_recordset(null::ledger_call, $1) call), $2,
           $3 * interval '1 millisecond') authorized`,
      [JSON.stringify(calls.map(callRecord)), this.#options.instanceId, this.#options.leaseMs],
      forMs,
    );
    for (const { kind, balance } of rows) if (kind === "frozen") this.#reportMoved(balance);
    return inOrder(rows, authorizeResultOf);
  }

  /** @param movedTo the cell that has the account; null while it moves */
  #reportMoved(movedTo: bigint | null): void {
    if (movedTo !== null) (this.#options.cell ?? NO_CELL).isForeign("account", Number(movedTo));
  }

  /** Captures completed runs that this instance started; ledger_end ends the rest. */
  async #endAll(endings: readonly Ending[], forMs: number): Promise<RunEndResult[]> {
    const captures = endings.flatMap(({ end, call, stored }) =>
      end.outcome === "completed" && call ? { run: end, call, stored } : [],
    );
    const captured = await this.#captureAll(captures, forMs);
    const others = endings.filter(({ end }) => !captured.has(end.runId));
    const results = others.length === 0 ? [] : await this.#endOthers(others, forMs);
    return endings.map(({ end }) => captured.get(end.runId) ?? next(results));
  }

  /** Results by run; of runs that cannot be captured now, none. */
  async #captureAll(captures: readonly Capture[], forMs: number): Promise<Map<string, RunEndResult>> {
    if (captures.length === 0) return new Map();
    const values = captureValues(captures, this.#options.instanceId);
    const models = modelValues(captures.map(({ run }) => run));
    const [row] = models
      ? await this.#query<CapturedRow>("capture-models", CAPTURE_MODEL_RUNS, [...values, ...models], forMs)
      : await this.#query<CapturedRow>("ledger-capture", CAPTURE_RUNS, values, forMs);
    return row ? captureResults(captures, row) : new Map();
  }

  async #endOthers(endings: readonly Ending[], forMs: number): Promise<RunEndResult[]> {
    const values = [
      JSON.stringify(endings.map(({ end }, index) => endingRecord(end, index))),
      endings.map(({ stored }) => stored),
      this.#options.instanceId,
    ];
    const models = modelValues(endings.map(({ end }) => end));
    const rows = models
      ? await this.#query<EndRow>("end-models", END_MODEL_RUNS, [...values, ...models], forMs)
      : await this.#query<EndRow>("ledger-end", END_RUNS, values, forMs);
    return inOrder(rows, endResultOf);
  }

  #query<Row extends object>(name: string, text: string, values: unknown[], forMs?: number): Promise<Row[]> {
    return queryWithRetry(this.#options.pool, { name, text, values }, forMs);
  }
}
