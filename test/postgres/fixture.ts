import { createHash, randomBytes, randomUUID } from "node:crypto";
import { base58 } from "@scure/base";
import type { Pool } from "pg";
import { expect } from "vitest";
import type { CallAuthorization, Ledger, RunEnd, RunEndResult } from "../../src/app/calls/ledger.ts";
import type { BudgetLimits } from "../../src/domain/accounts/budget.ts";
import type { CallPayment, VerifiedTransfer } from "../../src/app/payments/verified-transfer.ts";
import { newId, uuidOf } from "../../src/domain/core/ids.ts";
import { stepIdOf } from "../../src/domain/payments/quote.ts";
import { audit } from "../../src/postgres/operations/audit.ts";
import { Leases } from "../../src/postgres/ledger/leases.ts";
import { PostgresLedger } from "../../src/postgres/ledger/ledger.ts";
import { openPool } from "../../src/postgres/database/pool.ts";
import { Sweeper } from "../../src/postgres/ledger/sweeper.ts";
import { systemClock, systemRandom } from "../../src/system.ts";
import { NETWORK } from "../../src/domain/payments/body-proof.ts";

export const PRICE = 10_000n;

/** The ledger part of a gateway instance, without background work. */
export interface Instance {
  instanceId: string;
  pool: Pool;
  ledger: PostgresLedger;
  leases: Leases;
  sweeper: Sweeper;
  close(): Promise<void>;
}

const silent = { info: () => {}, warn: () => {}, error: () => {} };

export function openInstance(url: string, leaseMs = 15_000): Instance {
  const instanceId = randomUUID();
  const pool = openPool(url, { max: 4, applicationName: `test ${instanceId}` });
  const leases = new Leases({ pool, instanceId, leaseMs, log: silent });
  const ledger = new PostgresLedger({ pool, instanceId, leaseMs, leases });
  const sweeper = new Sweeper({ pool, instanceId, leases, leaseMs, log: silent });
  return { instanceId, pool, ledger, leases, sweeper, close: () => pool.end() };
}

/** Creates an account with that balance, funded by an adjustment. */
export async function makeAccount(pool: Pool, balance: bigint): Promise<string> {
  const accountId = newId("acct", systemClock, systemRandom);
  await pool.query("insert into account (id, wallet, rate_per_minute, burst) values ($1, $2, 60, 10)", [
    uuidOf("acct", accountId),
    base58.encode(randomBytes(32)),
  ]);
  if (balance !== 0n)
    await pool.query("select ledger_adjust($1, $2, $3, 'test')", [
      uuidOf("acct", accountId),
      balance,
      randomBytes(32),
    ]);
  return accountId;
}

export function newRunId(): string {
  return newId("run", systemClock, systemRandom);
}

function newReceiptId(): string {
  return newId("rcpt", systemClock, systemRandom);
}

export function fingerprintOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** A paid call from the balance without an idempotency key. */
export function callOf(accountId: string, change: Partial<CallAuthorization> = {}): CallAuthorization {
  return {
    accountId,
    keyId: newId("key", systemClock, systemRandom),
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
    network: NETWORK,
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

/** Creates a key with limits; returns what an authenticated call of it has. */
export async function makeKey(
  pool: Pool,
  accountId: string,
  limits: Partial<BudgetLimits> = {},
): Promise<Pick<CallAuthorization, "keyId" | "budgeted" | "limitsVersion">> {
  const [keyId, account] = [newId("key", systemClock, systemRandom), uuidOf("acct", accountId)];
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
  return { runId: call.runId, outcome: "completed", receiptId: newReceiptId(), result } as const;
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
  const lines = await audit(pool);
  expect(lines.filter(({ violations }) => violations > 0n)).toEqual([]);
}

/** Expires the leases of these runs. */
export async function expireLeases(pool: Pool, ...calls: readonly CallAuthorization[]): Promise<void> {
  await pool.query("update run set lease_until = now() - interval '1 second' where id = any ($1::uuid[])", [
    calls.map(({ runId }) => uuidOf("run", runId)),
  ]);
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
