import { describe, expect, it } from "vitest";
import type { CallAuthorization } from "../../../src/app/calls/ledger.ts";
import { uuidOf } from "../../../src/domain/core/ids.ts";
import { callRecord } from "../../../src/postgres/ledger/records.ts";
import { idFromUuid } from "../../../src/postgres/database/row-mapping.ts";
import {
  callOf,
  completed,
  depositOf,
  expectCleanAudit,
  expireLeases,
  failed,
  fingerprintOf,
  paymentOf,
  PRICE,
  untilWaiting,
  openLedger,
  inTransaction,
  type TestKey as Key,
} from "../fixture.ts";
import { refundRun } from "../../support/operator-acts.ts";

const { one, instances } = await openLedger();

/** Creates a key with a daily limit of that many calls. */
function keyFor(accountId: string, calls: number): Promise<Key> {
  return one.key(accountId, { perDay: BigInt(calls) * PRICE });
}

/** What counts against the key's limit today. */
async function spent({ keyId }: Key): Promise<bigint> {
  const text = "select spent from budget_limit where budget_id = $1 and period = 'day'";
  return (await one.pool.query<{ spent: bigint }>(text, [uuidOf("key", keyId)])).rows[0]!.spent;
}

async function started(...calls: CallAuthorization[]): Promise<string[]> {
  return (await Promise.all(calls.map((call) => one.ledger.authorize(call)))).map(({ kind }) => kind);
}

/** Moves what was counted to yesterday. */
async function letADayPass({ keyId }: Key): Promise<void> {
  const key = [uuidOf("key", keyId)];
  await one.pool.query(
    "update budget set day = day - 1, month = date_trunc('month', day - 1) where id = $1",
    key,
  );
  await one.pool.query("update run set started_at = started_at - interval '1 day' where key_id = $1", key);
}

/** The refusal by a daily limit of which that was spent. */
const capped = (spentToday: bigint) => ({
  kind: "capped",
  limit: expect.objectContaining({ period: "day", group: undefined, spent: spentToday }),
});

describe("daily limits of API keys", () => {
  it("fills a daily limit exactly under 200 concurrent calls on three instances", async () => {
    const account = await one.account(1_000n * PRICE);
    const key = await keyFor(account, 7);
    const calls = Array.from({ length: 200 }, (_, n) =>
      callOf(account, { ...key, ...(n % 3 === 0 && { idempotencyKey: `call ${n}` }) }),
    );
    const answers = await Promise.all(calls.map((call, n) => instances[n % 3]!.ledger.authorize(call)));
    expect(answers.filter(({ kind }) => kind === "started")).toHaveLength(7);
    for (const answer of answers.filter(({ kind }) => kind !== "started"))
      expect(answer).toEqual(capped(7n * PRICE));
    expect(await spent(key)).toBe(7n * PRICE);
    expect(await one.balance(account)).toBe(993n * PRICE);
  });

  it("allows a smaller call that still fits the daily limit", async () => {
    const account = await one.account(100n * PRICE);
    const key = await keyFor(account, 3);
    const priced = (price: bigint) => callOf(account, { ...key, price });
    expect(await started(priced(2n * PRICE), priced(2n * PRICE), priced(PRICE), priced(1n))).toEqual([
      "started",
      "capped",
      "started",
      "capped",
    ]);
  });

  it("counts the spend of concurrent calls that it waited for", async () => {
    const account = await one.account(100n * PRICE);
    const key = await keyFor(account, 1);
    const two = instances[1];
    await inTransaction(two.pool, async (other) => {
      await other.query(
        `select * from ledger_authorize(array(select call
          from json_populate_recordset(null::ledger_call, $1) call), $2, interval '1 minute')`,
        [JSON.stringify([callRecord(callOf(account, key), 0)]), two.instanceId],
      );
      const waiting = one.authorize(account, key);
      await untilWaiting(two.pool, one);
      await other.query("commit");
      expect(await waiting).toEqual(capped(PRICE));
    });
  });

  it("frees the daily limit of failed, cancelled and swept calls, and keeps that of completed and refunded ones", async () => {
    const account = await one.account(100n * PRICE);
    const key = await keyFor(account, 4);
    const calls = [0, 1, 2, 3].map(() => callOf(account, key)) as [
      CallAuthorization,
      CallAuthorization,
      CallAuthorization,
      CallAuthorization,
    ];
    expect(await started(...calls)).toEqual(Array(4).fill("started"));
    expect(await started(callOf(account, key))).toEqual(["capped"]);
    await one.ledger.capture(completed(calls[0]));
    await one.ledger.release(failed(calls[1]));
    await one.ledger.release({ ...failed(calls[2]), outcome: "cancelled" });
    expect(await spent(key)).toBe(2n * PRICE);
    await expireLeases(one.pool, calls[3]);
    await instances[1].sweeper.sweep();
    expect(await spent(key)).toBe(PRICE);
    // A repeated end frees nothing twice.
    await one.ledger.release(failed(calls[1]));
    await refundRun(one.pool, uuidOf("run", calls[0].runId));
    expect(await spent(key)).toBe(PRICE);
    expect(await started(...[0, 1, 2, 3].map(() => callOf(account, key)))).toEqual([
      "started",
      "started",
      "started",
      "capped",
    ]);
  });

  it("resets daily limits at midnight UTC; calls of the day before free that day's budget", async () => {
    const account = await one.account(100n * PRICE);
    const key = await keyFor(account, 2);
    const [late, done] = [callOf(account, key), callOf(account, key)];
    expect(await started(late, done, callOf(account, key))).toEqual(["started", "started", "capped"]);
    await letADayPass(key);
    expect(await started(callOf(account, key), callOf(account, key), callOf(account, key))).toEqual([
      "started",
      "started",
      "capped",
    ]);
    await one.ledger.capture(completed(done));
    await one.ledger.release(failed(late));
    expect(await spent(key)).toBe(2n * PRICE);
  });

  it("shares a daily limit between a key and its replacements", async () => {
    const account = await one.account(100n * PRICE);
    const key = await keyFor(account, 5);
    const keys = [key, await one.key(account), await one.key(account)];
    await one.pool.query("update api_key set budget_id = $1 where account_id = $2", [
      uuidOf("key", key.keyId),
      uuidOf("acct", account),
    ]);
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        instances[n % 2]!.ledger.authorize(callOf(account, { ...key, keyId: keys[n % 3]!.keyId })),
      ),
    );
    expect(answers.filter(({ kind }) => kind === "started")).toHaveLength(5);
    expect(await spent(key)).toBe(5n * PRICE);
  });

  it("does not count calls with their own payment, free calls and other keys", async () => {
    const account = await one.account(100n * PRICE);
    const key = await keyFor(account, 1);
    expect(
      await started(
        callOf(account, key),
        callOf(account, { ...key, payment: paymentOf(depositOf()) }),
        callOf(account, key),
        callOf(account, { ...key, price: 0n, idempotencyKey: "free" }),
        callOf(account),
        callOf(account, await keyFor(account, 1)),
      ),
    ).toEqual(["started", "started", "capped", "started", "started", "started"]);
    expect(await spent(key)).toBe(PRICE);
  });

  it("refuses one call without affecting other calls of the batch", async () => {
    const [account, other] = [await one.account(2n * PRICE), await one.account(PRICE)];
    const key = await keyFor(account, 1);
    const first = one.authorize(await one.account(PRICE));
    const batch = started(
      callOf(account, { ...key, price: 2n * PRICE, idempotencyKey: "too much" }),
      callOf(other, await keyFor(other, 9)),
      callOf(account, key),
      callOf(account, { ...key, idempotencyKey: "one too many" }),
      callOf(account),
    );
    await first;
    expect(await batch).toEqual(["capped", "started", "started", "capped", "started"]);
    // The refused call claimed nothing.
    expect(await started(callOf(account, { idempotencyKey: "too much", price: 0n }))).toEqual(["started"]);
  });

  it("replays stored results and reports running calls although the daily limit is reached", async () => {
    const account = await one.account(100n * PRICE);
    const key = await keyFor(account, 2);
    const [done, running] = ["done", "running"].map((idempotencyKey) =>
      callOf(account, { ...key, idempotencyKey }),
    );
    await started(done!, running!);
    await one.ledger.capture(completed(done!));
    const again = (call: CallAuthorization) => ({ ...call, runId: callOf(account).runId });
    expect(
      await started(again(done!), again(running!), { ...again(done!), fingerprint: fingerprintOf("other") }),
    ).toEqual(["replay", "in_progress", "mismatch"]);
  });

  it("checks the daily limit before the balance, also after insufficient funds", async () => {
    const account = await one.account(PRICE);
    const key = await keyFor(account, 1);
    expect(await started(callOf(account, key))).toEqual(["started"]);
    expect(await started(callOf(account))).toEqual(["insufficient"]);
    expect(await one.authorize(account, key)).toEqual(capped(PRICE));
    expect(await one.authorize(account, await keyFor(account, 1))).toEqual({
      kind: "insufficient",
      balance: 0n,
    });
  });

  it("counts a retry by key alone after its paid call failed", async () => {
    const account = await one.account(100n * PRICE);
    const key = await keyFor(account, 1);
    const paid = callOf(account, { ...key, idempotencyKey: "paid", payment: paymentOf(depositOf()) });
    await started(paid);
    await one.ledger.release(failed(paid));
    expect(await spent(key)).toBe(0n);
    expect(await started(callOf(account, { ...key, idempotencyKey: "paid" }), callOf(account, key))).toEqual([
      "started",
      "capped",
    ]);
  });

  it("stores the key with the run", async () => {
    const account = await one.account(100n * PRICE);
    const [key, plain] = [await keyFor(account, 1), callOf(account)];
    const payment = paymentOf(depositOf());
    const calls = [callOf(account, key), callOf(account, { ...key, payment }), plain];
    await started(...calls);
    const { rows } = await one.pool.query<{ id: string; key_id: string }>(
      "select id, key_id from run where account_id = $1",
      [uuidOf("acct", account)],
    );
    const kept = calls.map(({ runId }) => rows.find(({ id }) => idFromUuid("run", id) === runId)!);
    expect(kept.map((row) => idFromUuid("key", row.key_id))).toEqual([key.keyId, key.keyId, plain.keyId]);
  });
});

it("leaves a ledger that passes the audit", () => expectCleanAudit(one.pool));
