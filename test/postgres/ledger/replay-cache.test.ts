import { randomUUID } from "node:crypto";
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { beforeEach, expect, it } from "vitest";
import type { CallAuthorization, RunEndResult } from "../../../src/app/calls/ledger.ts";
import { Leases } from "../../../src/postgres/ledger/leases.ts";
import { PostgresLedger } from "../../../src/postgres/ledger/ledger.ts";
import { Notifications } from "../../../src/postgres/database/notifications.ts";
import { openPool } from "../../../src/postgres/database/pool.ts";
import { ReplayCache } from "../../../src/postgres/ledger/replay-cache.ts";
import {
  callOf,
  completed,
  depositOf,
  expectCleanAudit,
  expireLeases,
  fingerprintOf,
  newRunId,
  paymentOf,
  PRICE,
  silent,
  openLedger,
} from "../fixture.ts";

const { database, pool, one } = await openLedger();
let notifications: Notifications;
let answers: ReplayCache;
let ledger: PostgresLedger;
let now: number;
/** Number of ledger queries. */
let asked = 0;

beforeEach(async () => {
  const instanceId = randomUUID();
  const own = openPool(database.url, { max: 2, applicationName: `test ${instanceId}` }).on(
    "acquire",
    () => asked++,
  );
  now = Date.now();
  notifications = new Notifications({ url: database.url, log: silent });
  answers = new ReplayCache({ clock: { now: () => now }, notifications });
  const leases = new Leases({ pool: own, instanceId, leaseMs: 15_000, log: silent });
  ledger = new PostgresLedger({ pool: own, instanceId, leaseMs: 15_000, leases, replayCache: answers });
  notifications.start();
  await expect.poll(() => notifications.live).toBe(true);
  return async () => {
    await notifications.stop();
    await own.end();
  };
});

/** A charged call with a key, and its result. */
async function charged(
  change: Partial<CallAuthorization> = {},
): Promise<{ call: CallAuthorization; finished: RunEndResult }> {
  const call = callOf(await one.account(3n * PRICE), { idempotencyKey: "mine", ...change });
  expect(await ledger.authorize(call)).toEqual({ kind: "started" });
  return { call, finished: await ledger.capture(completed(call)) };
}

/**
 * Repeats the call.
 * @returns the ledger's result and the number of queries
 */
async function repeat(call: CallAuthorization, change: Partial<CallAuthorization> = {}) {
  const before = asked;
  const started = await ledger.authorize({ ...call, runId: newRunId(), ...change });
  return { started, asked: asked - before };
}

function receiptIn(finished: RunEndResult) {
  if (finished.kind !== "captured" || !finished.receipt) throw new Error("not charged");
  return finished.receipt;
}

it("replays a call without a query, with the stored result", async () => {
  const { call, finished } = await charged();
  const replay = { kind: "replay", result: { answer: 42 }, receipt: receiptIn(finished) };
  expect(await repeat(call)).toEqual({ started: replay, asked: 0 });
  // The cached replay equals the one from the database.
  now += 300_000;
  const { started, asked: again } = await repeat(call);
  expect(started).toEqual(replay);
  expect(again).toBeGreaterThan(0);
});

it("replays a free call with a key, which has no receipt", async () => {
  const { call } = await charged({ price: 0n });
  expect(await repeat(call)).toEqual({
    started: { kind: "replay", result: { answer: 42 }, receipt: undefined },
    asked: 0,
  });
});

it("identifies a call by account, key and parameters", async () => {
  const { call } = await charged();
  expect((await repeat(call, { fingerprint: fingerprintOf("another") })).started).toEqual({
    kind: "mismatch",
  });
  expect((await repeat(call, { idempotencyKey: "other" })).started).toEqual({ kind: "started" });
  const stranger = await one.account();
  expect((await repeat(call, { accountId: stranger })).started).toEqual({
    kind: "insufficient",
    balance: 0n,
  });
});

it("queries the database for a call paid by a transaction, which may be reversed", async () => {
  const deposit = depositOf();
  const { call } = await charged({ payment: paymentOf(deposit) });
  const { started, asked: times } = await repeat(call, { payment: undefined });
  expect(started).toMatchObject({ kind: "replay", receipt: { txSignature: deposit.reference } });
  expect(times).toBeGreaterThan(0);
});

it("reflects a refund within a second, on every instance", async () => {
  const { call, finished } = await charged();
  const { receiptId } = receiptIn(finished);
  await one.refunds.refund({ receiptId, reason: "test" });
  await expect
    .poll(async () => (await repeat(call)).started, { interval: 10 })
    .toMatchObject({ kind: "replay", receipt: { status: "refunded", refunded: PRICE } });
});

it("queries the database while a refund may have been missed, also for entries cached before", async () => {
  const { call } = await charged();
  await notifications.stop();
  await expect.poll(() => notifications.live).toBe(false);
  expect((await repeat(call)).asked).toBeGreaterThan(0);
  notifications.start();
  await expect.poll(() => notifications.live).toBe(true);
  expect((await repeat(call)).asked).toBeGreaterThan(0);
});

it("neither replays nor caches while the notification connection is silent", async () => {
  const { call } = await charged();
  const connection = { live: true, subscribe: () => {} };
  const own = new ReplayCache({ clock: { now: () => now }, notifications: connection });
  own.prepare(call, "{}")(undefined);
  connection.live = false;
  expect(own.find(call)).toBeUndefined();
  own.prepare({ ...call, idempotencyKey: "late" }, "{}")(undefined);
  connection.live = true;
  expect(own.find(call)).toBeDefined();
  expect(own.find({ ...call, idempotencyKey: "late" })).toBeUndefined();
});

it("does not cache a result whose charge was refunded before it was stored", async () => {
  const { call, finished } = await charged({ idempotencyKey: "first" });
  const receipt = receiptIn(finished);
  const late = { ...call, idempotencyKey: "second" };
  const remember = answers.prepare(late, "{}");
  await one.refunds.refund({ receiptId: receipt.receiptId, reason: "test" });
  await expect.poll(() => answers.find(call), { interval: 10 }).toBeUndefined();
  remember(receipt);
  expect(answers.find(late)).toBeUndefined();
  // On a busy machine the notification connection may be silent for a moment.
  const again = () => {
    answers.prepare(late, "{}")(receipt);
    return answers.find(late);
  };
  await expect.poll(again).toMatchObject({ kind: "replay" });
});

it("does not cache a result that was not charged because its run was released", async () => {
  const call = callOf(await one.account(PRICE), { idempotencyKey: "mine" });
  await ledger.authorize(call);
  await expireLeases(pool, call);
  await pool.query("select ledger_sweep(100)");
  expect(await ledger.capture(completed(call))).toEqual({ kind: "lost" });
  expect((await repeat(call)).started).toEqual({ kind: "started" });
});

it("does not cache long results", async () => {
  const call = callOf(await one.account(PRICE), { idempotencyKey: "mine" });
  await ledger.authorize(call);
  await ledger.capture({ ...completed(call), result: { answer: "x".repeat(20_000) } });
  const { started, asked: times } = await repeat(call);
  expect(started).toMatchObject({ kind: "replay" });
  expect(times).toBeGreaterThan(0);
});

it("leaves a ledger that passes the audit", () => expectCleanAudit(pool));

it("keeps nothing of Node's buffer pool, of which a fingerprint is a part of 64 KB", () => {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const cache = new ReplayCache({ clock: { now: () => now }, notifications: { live: true, subscribe() {} } });
  collect();
  const before = process.memoryUsage().arrayBuffers;
  for (let call = 0; call < 1_000; call++) {
    const fingerprint = Buffer.from("f".repeat(32));
    cache.prepare({ accountId: "a", idempotencyKey: String(call), fingerprint }, "{}")(undefined);
    // What other work takes from the pool before the next call.
    for (let other = 0; other < 4; other++) Buffer.from("o".repeat(Buffer.poolSize / 4));
  }
  collect();
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10e6);
  const last = { accountId: "a", idempotencyKey: "999", fingerprint: Buffer.from("f".repeat(32)) };
  expect(cache.find(last)).toMatchObject({ kind: "replay" });
});
