import { createHash, randomBytes, randomUUID } from "node:crypto";
import { base58 } from "@scure/base";
import type { Pool, PoolClient } from "pg";
import { expect } from "vitest";
import type { CallAuthorization, Ledger, RunEnd, RunEndResult } from "../../src/app/calls/ledger.ts";
import type { BudgetLimits } from "../../src/domain/accounts/budget.ts";
import type { CallPayment, VerifiedTransfer } from "../../src/app/payments/payment-methods.ts";
import type { Refunds, Suspense } from "../../src/app/treasury/treasury-ledger.ts";
import { newId, uuidOf } from "../../src/domain/core/ids.ts";
import { stepIdOf } from "../../src/domain/payments/quote.ts";
import { auditSince } from "../../src/postgres/operations/audit.ts";
import { Leases, Sweeper } from "../../src/postgres/ledger/leases.ts";
import { PostgresLedger } from "../../src/postgres/ledger/ledger.ts";
import { openPool } from "../../src/postgres/database/pool.ts";
import { PostgresRefunds, PostgresSuspense } from "../../src/postgres/treasury/suspense.ts";
import { PostgresTreasuryLedger } from "../../src/postgres/treasury/treasury-ledger.ts";
import { adjustBalance, recordAct } from "../support/operator-acts.ts";
import { closing, openDatabase } from "../support/postgres.ts";
import { systemClock, systemRandom } from "../../src/system.ts";
import { SOLANA } from "../../src/domain/payments/payment-id.ts";

export const PRICE = 10_000n;

/** See {@link openInstance}. */
export type Instance = ReturnType<typeof openInstance>;

export const silent = { info: () => {}, warn: () => {}, error: () => {} };

/** Gives the pool time limits for a busy machine. Only a test of the limits needs those of production. */
function patient(pool: Pool, lockTimeoutMs = 60_000): Pool {
  Object.assign(pool.options, {
    connectionTimeoutMillis: 60_000,
    statement_timeout: 60_000,
    query_timeout: 65_000,
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: 60_000,
  });
  return pool;
}

/** What a test changes of a call. */
type Change = Partial<CallAuthorization>;

/** The ledger part of a gateway instance, without background work, and shorthands for its calls. */
export function openInstance(url: string, { leaseMs = 15_000, lockTimeoutMs = 60_000 } = {}) {
  const instanceId = randomUUID();
  const pool = patient(openPool(url, { max: 4, applicationName: `test ${instanceId}` }), lockTimeoutMs);
  const leases = new Leases({ pool, instanceId, leaseMs, log: silent });
  const ledger = new PostgresLedger({ pool, instanceId, leaseMs, leases });
  /** Authorizes a call, which must start. */
  const start = async (accountId: string, change?: Change) => {
    const call = callOf(accountId, change);
    expect(await ledger.authorize(call)).toEqual({ kind: "started" });
    return call;
  };
  return {
    ...{ instanceId, pool, leases, ledger },
    sweeper: new Sweeper({ pool, instanceId, leases, leaseMs, log: silent }),
    treasury: new PostgresTreasuryLedger({ pool, instanceId }),
    ...correctionsOf(pool),
    /** Creates an account. */
    account: (balance = 0n) => makeAccount(pool, balance),
    key: (accountId: string, limits?: Partial<BudgetLimits>) => makeKey(pool, accountId, limits),
    authorize: (accountId: string, change?: Change) => ledger.authorize(callOf(accountId, change)),
    start,
    /** Starts a call and captures it. @returns its receipt, "" for a free call */
    buy: async (accountId: string, change?: Change) => {
      const call = await start(accountId, change);
      const captured = await ledger.capture(completed(call));
      if (captured.kind !== "captured") throw new Error(`the run was ${captured.kind}`);
      return { call, receiptId: captured.receipt?.receiptId ?? "" };
    },
    /** Starts a call and releases it. */
    fail: async (accountId: string, change?: Change) => {
      const call = await start(accountId, change);
      expect(await ledger.release(failed(call))).toEqual({ kind: "released" });
      return call;
    },
    balance: (accountId: string) => ledger.balance(accountId),
    close: () => pool.end(),
  };
}

/** Corrections, each with its operator's action. */
function correctionsOf(pool: Pool): { refunds: Refunds; suspense: Suspense } {
  const [refunds, suspense] = [new PostgresRefunds(pool), new PostgresSuspense(pool)];
  return {
    refunds: {
      refund: async (refund) => {
        await recordAct(pool, "receipt.refund", refund.receiptId);
        return refunds.refund(refund);
      },
    },
    suspense: {
      list: (query) => suspense.list(query),
      assign: async (assignment) => {
        const { txSignature, to } = assignment;
        await recordAct(pool, "suspense.assign", txSignature, to === "operator" ? to : to.accountId);
        return suspense.assign(assignment);
      },
    },
  };
}

/** A database for the tests of one file with three instances. Closed after the tests. */
export async function openLedger(options: Parameters<typeof openInstance>[1] = {}) {
  const database = await openDatabase();
  const open = () => closing(openInstance(database.url, options));
  const [one, two, three] = [open(), open(), open()];
  return { database, pool: one.pool, one, two, three, instances: [one, two, three] as const };
}

/** Creates an account with that balance, funded by an adjustment. */
export async function makeAccount(pool: Pool, balance: bigint): Promise<string> {
  const accountId = idOf("acct");
  await pool.query("insert into account (id, wallet, rate_per_minute, burst) values ($1, $2, 60, 10)", [
    uuidOf("acct", accountId),
    base58.encode(randomBytes(32)),
  ]);
  if (balance !== 0n)
    await adjustBalance(pool, accountId.slice("acct_".length), { change: balance, key: randomUUID() });
  return accountId;
}

/** A new identifier, of that time in ms. */
export function idOf(kind: Parameters<typeof newId>[0], at = systemClock.now()): string {
  return newId(kind, { now: () => at }, systemRandom);
}

/** Waits for the next millisecond: identifiers of the same one have no defined order. */
export async function nextMillisecond(): Promise<void> {
  for (const before = Date.now(); Date.now() === before;) await new Promise(setImmediate);
}

export function newRunId(): string {
  return idOf("run");
}

export function fingerprintOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** A paid call from the balance without an idempotency key. */
export function callOf(accountId: string, change: Change = {}): CallAuthorization {
  return {
    accountId,
    keyId: idOf("key"),
    budgeted: false,
    limitsVersion: 0,
    runId: newRunId(),
    requestId: `req_${randomUUID().replaceAll("-", "")}`,
    tool: "vram_estimate",
    fingerprint: fingerprintOf("call"),
    price: PRICE,
    idempotencyKey: undefined,
    payment: undefined,
    ...change,
  };
}

export function depositOf(change: Partial<VerifiedTransfer> = {}): VerifiedTransfer {
  return {
    network: SOLANA,
    reference: base58.encode(randomBytes(64)),
    amount: PRICE,
    quoteId: `qt_${base58.encode(randomBytes(32))}`,
    payer: undefined,
    slot: 1n,
    blockTime: new Date("2026-01-01T00:00:00Z"),
    finalized: false,
    paidBy: "transfer",
    ...change,
  };
}

export function paymentOf(deposit: VerifiedTransfer): CallPayment {
  return {
    network: deposit.network,
    reference: deposit.reference,
    quoteId: deposit.quoteId,
    stepId: stepIdOf(deposit.quoteId),
    transfer: deposit,
  };
}

/** Limits that apply to no call. */
const NO_BUDGET = { perDay: undefined, perMonth: undefined, inAll: undefined, warnPercent: 80 };

/** What an authenticated call of a key has. */
export type TestKey = Pick<CallAuthorization, "keyId" | "budgeted" | "limitsVersion">;

/** Creates a key with limits. */
export async function makeKey(
  pool: Pool,
  accountId: string,
  limits: Partial<BudgetLimits> = {},
): Promise<TestKey> {
  const [keyId, account] = [idOf("key"), uuidOf("acct", accountId)];
  await pool.query(
    "insert into api_key (id, account_id, sha256, prefix, name, scopes) values ($1, $2, $3, '', '', '{}')",
    [uuidOf("key", keyId), account, randomBytes(32)],
  );
  const budgeted = Object.keys(limits).length > 0;
  if (budgeted) {
    await pool.query("select budget_open($1)", [uuidOf("key", keyId)]);
    await setLimits(pool, uuidOf("key", keyId), limits);
  }
  const { rows } = await pool.query("select limits_version from account where id = $1", [account]);
  return { keyId, budgeted, limitsVersion: rows[0].limits_version };
}

/** Sets the limits of a budget, by its UUID. */
export async function setLimits(
  pool: Pool,
  budget: string | undefined,
  limits: Partial<BudgetLimits>,
): Promise<void> {
  const { perDay, perMonth, inAll, warnPercent } = { ...NO_BUDGET, ...limits };
  await pool.query(
    `select limits_lock(account_id), budget_change(id, $2, $3, $4, $5) from budget where id = $1`,
    [budget, perDay, perMonth, inAll, warnPercent],
  );
}

/** A successful end of the call's run. */
export function completed(call: CallAuthorization, result = { answer: 42 }) {
  return { runId: call.runId, outcome: "completed", receiptId: idOf("rcpt"), result } as const;
}

/** Captures or releases. */
export function endRun(ledger: Pick<Ledger, "capture" | "release">, end: RunEnd): Promise<RunEndResult> {
  return end.outcome === "completed" ? ledger.capture(end) : ledger.release(end);
}

/**
 * Ends a run successfully.
 * @returns its receipt's identifier, which carries the ledger's time
 */
export async function chargeOf(ledger: PostgresLedger, end: ReturnType<typeof completed>): Promise<string> {
  const finished = await ledger.capture(end);
  if (finished.kind !== "captured" || !finished.receipt) throw new Error(`the run was ${finished.kind}`);
  return finished.receipt.receiptId;
}

/** A failed end of the call's run. */
export function failed(call: CallAuthorization) {
  return {
    runId: call.runId,
    outcome: "failed",
    error: { code: "TOOL_FAILED", message: "the tool failed" },
  } as const;
}

/** Asserts that every audit check passes. */
export async function expectCleanAudit(pool: Pool): Promise<void> {
  const { findings } = await auditSince(pool, { whole: true });
  expect(findings.filter(({ violations }) => violations > 0n)).toEqual([]);
}

/** Expires the leases of these runs. */
export async function expireLeases(pool: Pool, ...calls: readonly CallAuthorization[]): Promise<void> {
  await pool.query("update run set lease_until = now() - interval '1 second' where id = any ($1::uuid[])", [
    calls.map(({ runId }) => uuidOf("run", runId)),
  ]);
}

/** Runs `work` in a transaction of its own connection, which is rolled back unless `work` commits it. */
export async function inTransaction<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    return await work(client);
  } finally {
    // A timeout may have closed the connection already.
    await client.query("rollback").then(
      () => client.release(),
      () => client.release(true),
    );
  }
}

/** Waits until the instance has a statement that waits for a lock. The pool belongs to another instance. */
export async function untilWaiting(pool: Instance["pool"], { instanceId }: Instance): Promise<void> {
  await expect
    .poll(async () => {
      const waiting = "select from pg_stat_activity where application_name = $1 and wait_event_type = 'Lock'";
      return (await pool.query(waiting, [`test ${instanceId}`])).rowCount;
    })
    .toBe(1);
}
