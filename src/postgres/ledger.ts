import type { Pool } from "pg";
import type {
  AuthorizeResult,
  CallAuthorization,
  VerifiedTransfer,
  RunEnd,
  RunEndResult,
  Ledger,
  PriorOutcome,
  PriorQuery,
} from "../app/ports.ts";
import { ToolgateError } from "../domain/errors.ts";
import { Lru } from "../domain/lru.ts";
import type { MicroUsd } from "../domain/money.ts";
import { Batcher, type RETRY } from "./batcher.ts";
import type { Leases } from "./leases.ts";
import { claimKey, exclusiveKeys } from "./ledger-claims.ts";
import {
  begunOf,
  callRecord,
  endingRecord,
  finishedOf,
  inOrder,
  priorOf,
  priorRecord,
  resultText,
  type BegunRow,
  type FinishedRow,
  type PriorRow,
} from "./ledger-records.ts";
import type { ReplayCache } from "./replay-cache.ts";
import { RETRY_MS, queryWithRetry } from "./retry.ts";
import { signatureFrom, uuidFromId } from "./row-mapping.ts";

/** What the ledger needs. */
export interface LedgerOptions {
  pool: Pool;
  /** A UUID that is this process's alone: the owner of its runs. */
  instanceId: string;
  /** How long a run may go without a heartbeat, ms. */
  leaseMs: number;
  leases: Leases;
  /** Answers that were stored a short while ago; without it, every repeat asks the database. */
  replayCache?: ReplayCache;
}

/** Calls in one transaction at most. */
const BATCH = 200;

/** Transactions of each kind under way at once, of different accounts each. */
const LANES = 2;

/** How a run ends, and its result as it is stored; undefined where it is not. */
interface Ending {
  readonly call: RunEnd;
  readonly stored: string | undefined;
}

/**
 * The ledger on PostgreSQL. The rules are in the functions `ledger_*` of the migrations; here calls are batched, sent, and sent
 * again when their answer is lost. That is safe: a call is known by its run, so that what happened the first time is told again.
 */
export class PostgresLedger implements Ledger {
  readonly #options: LedgerOptions;
  readonly #looking: Batcher<PriorQuery, { prior: PriorOutcome }>;
  readonly #beginning: Batcher<CallAuthorization, AuthorizeResult>;
  readonly #finishing: Batcher<Ending, RunEndResult>;
  readonly #balances: Batcher<string, MicroUsd>;
  /** Accounts whose last call was refused for their balance. */
  readonly #short = new Lru<string, true>(10_000);
  /** The calls of the runs under way that were begun here. */
  readonly #begun = new Map<string, CallAuthorization>();

  constructor(options: LedgerOptions) {
    this.#options = options;
    const patienceMs = RETRY_MS;
    this.#balances = new Batcher({
      max: 500,
      retryMs: patienceMs,
      run: (accounts, forMs) => this.#balancesOf(accounts, forMs),
    });
    this.#looking = new Batcher({
      max: BATCH,
      retryMs: patienceMs,
      run: (queries, forMs) => this.#priorAll(queries, forMs),
    });
    this.#beginning = new Batcher({
      max: BATCH,
      lanes: LANES,
      keys: exclusiveKeys,
      lane: ({ accountId }) => accountId,
      retryMs: patienceMs,
      run: (calls, forMs) => this.#beginAll(calls, forMs),
    });
    this.#finishing = new Batcher({
      max: BATCH,
      lanes: LANES,
      keys: ({ call: { runId } }) => [runId],
      lane: ({ call: { runId } }) => runId,
      // The end of a run waits for as long as it keeps its lease.
      retryMs: Math.max(RETRY_MS, options.leaseMs),
      run: (endings, forMs) => this.#finishAll(endings, forMs),
    });
  }

  async findPrior(query: PriorQuery): Promise<PriorOutcome> {
    const { prior } = await this.#looking.submit(query);
    return prior;
  }

  async authorize(call: CallAuthorization): Promise<AuthorizeResult> {
    const known = knownByKey(call) ? this.#options.replayCache?.find(call) : undefined;
    if (known) return known;
    const short = await this.#stillShort(call);
    if (short) return short;
    const begun = await this.#beginKept(call);
    if (begun.kind === "insufficient") this.#short.set(call.accountId, true);
    // Answered by the call that its payment bought under another key: from now on this key stands for that answer too.
    if (begun.kind === "replay" && call.payment && call.idempotencyKey !== undefined) {
      await this.findPrior({ ...call, ...call.payment });
    }
    if (begun.kind === "started") this.#begun.set(call.runId, call);
    return begun;
  }

  /** Keeps the run from before it exists: it can begin in the database while this process stands still. */
  async #beginKept(call: CallAuthorization): Promise<AuthorizeResult> {
    const { leases } = this.#options;
    const run = uuidFromId("run", call.runId);
    leases.add(run);
    try {
      const begun = await this.#beginning.submit(call);
      if (begun.kind !== "started") leases.remove(run);
      return begun;
    } catch (error) {
      leases.remove(run);
      throw error;
    }
  }

  /**
   * An account that was short the last time is likely short again: its balance alone, which is one row for all its calls in a batch,
   * then tells so for far less than the judgement of a call. Only for calls that claim nothing, of which nothing else can be known:
   * not for those that may be over their key's limit for the day.
   */
  async #stillShort(call: CallAuthorization): Promise<AuthorizeResult | undefined> {
    if (call.price === 0n || call.budget || claimKey(call) !== undefined || !this.#short.get(call.accountId))
      return undefined;
    const balance = await this.#balances.submit(uuidFromId("acct", call.accountId));
    if (balance < call.price) return { kind: "insufficient", balance };
    this.#short.delete(call.accountId);
    return undefined;
  }

  async #balancesOf(accounts: readonly string[], forMs: number): Promise<MicroUsd[]> {
    const rows = await this.#query<{ id: string; available: bigint }>(
      "ledger-balances",
      "select id, available from account where id = any ($1::uuid[])",
      [[...new Set(accounts)]],
      forMs,
    );
    // PostgreSQL writes a uuid with hyphens, whatever it was asked with.
    const balances = new Map(rows.map(({ id, available }) => [id.replaceAll("-", ""), available]));
    return accounts.map((id) => balances.get(id.replaceAll("-", "")) ?? 0n);
  }

  async finish(call: RunEnd): Promise<RunEndResult> {
    const begun = this.#begun.get(call.runId);
    // Of a run that claimed nothing nobody can ask for the result again, so it is not stored.
    const stored = begun && claimKey(begun) === undefined ? undefined : resultText(call);
    const remember = this.#remembering(begun, stored);
    try {
      const finished = await this.#finishing.submit({ call, stored });
      if (finished.kind === "captured") remember?.(finished.receipt);
      return finished;
    } finally {
      this.#options.leases.remove(uuidFromId("run", call.runId));
      this.#begun.delete(call.runId);
    }
  }

  #remembering(begun: CallAuthorization | undefined, stored: string | undefined) {
    if (!begun || stored === undefined || !knownByKey(begun)) return undefined;
    return this.#options.replayCache?.prepare(begun, stored);
  }

  async credit(
    accountId: string,
    deposit: VerifiedTransfer,
  ): Promise<{ credited: boolean; balance: MicroUsd }> {
    const rows = await this.#query<{ credited: boolean }>(
      "ledger-credit",
      "select ledger_credit($1, $2, $3, $4, $5, $6, $7, $8, $9) as credited",
      [
        uuidFromId("acct", accountId),
        signatureFrom(deposit.txSignature),
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

  /** In the order of their claims, of which it may write some: so does whoever begins calls, and none of them waits for the other. */
  async #priorAll(queries: readonly PriorQuery[], forMs: number): Promise<{ prior: PriorOutcome }[]> {
    const rows = await this.#query<PriorRow>(
      "ledger-prior",
      `select asked.n::integer as n, prior.kind, prior.result, prior.payment_claim, (prior.receipt).*
       from (
         select * from json_array_elements($1) with ordinality asked (call, n)
         order by (call ->> 'account_id')::uuid, call ->> 'claim_key' offset 0
       ) asked cross join lateral ledger_prior(asked.call) prior`,
      [JSON.stringify(queries.map(priorRecord))],
      forMs,
    );
    return inOrder(rows, (row) => ({ prior: priorOf(row) }));
  }

  async #beginAll(
    calls: readonly CallAuthorization[],
    forMs: number,
  ): Promise<(AuthorizeResult | typeof RETRY)[]> {
    const rows = await this.#query<BegunRow>(
      "ledger-begin",
      `select begun.n, begun.kind, begun.balance, begun.result, (begun.receipt).*
       from ledger_begin(array(select call from json_populate_recordset(null::ledger_call, $1) call), $2, $3 * interval '1 millisecond') begun`,
      [JSON.stringify(calls.map(callRecord)), this.#options.instanceId, this.#options.leaseMs],
      forMs,
    );
    return inOrder(rows, begunOf);
  }

  async #finishAll(endings: readonly Ending[], forMs: number): Promise<RunEndResult[]> {
    const rows = await this.#query<FinishedRow>(
      "ledger-finish",
      `select finished.n, finished.kind, (finished.receipt).*
       from ledger_finish(array(select ending from json_populate_recordset(null::ledger_ending, $1) ending), $2::text[]::json[], $3) finished`,
      [
        JSON.stringify(endings.map(({ call }, index) => endingRecord(call, index))),
        endings.map(({ stored }) => stored),
        this.#options.instanceId,
      ],
      forMs,
    );
    return inOrder(rows, finishedOf);
  }

  #query<Row extends object>(
    name: string,
    text: string,
    values: unknown[],
    patienceMs?: number,
  ): Promise<Row[]> {
    return queryWithRetry(this.#options.pool, { name, text, values }, patienceMs);
  }
}

/** Whether a call is known by its key, and by nothing else: a payment may be taken back, and then its receipt says so. */
function knownByKey({ idempotencyKey, payment }: CallAuthorization): boolean {
  return idempotencyKey !== undefined && payment === undefined;
}
