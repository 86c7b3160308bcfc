import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { uuidOf } from "../../../src/domain/core/ids.ts";
import type { CallAuthorization } from "../../../src/app/calls/ledger.ts";
import type { CallPayment } from "../../../src/app/payments/verified-transfer.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import {
  callOf,
  completed,
  depositOf,
  expectCleanAudit,
  failed,
  makeAccount,
  openInstance,
  paymentOf,
  PRICE,
  untilWaiting,
  type Instance,
} from "../fixture.ts";
import { kindOf } from "./reference-ledger.ts";

let database: TestDatabase;
let one: Instance;
let two: Instance;

beforeAll(async () => {
  database = await createTestDatabase();
  [one, two] = [openInstance(database.url), openInstance(database.url)];
});
afterAll(async () => {
  await Promise.all([one.close(), two.close()]);
  await database.drop();
});
afterEach(() => expectCleanAudit(one.pool));

async function fail(call: CallAuthorization): Promise<void> {
  expect(await one.ledger.authorize(call)).toEqual({ kind: "started" });
  await one.ledger.release(failed(call));
}

describe("a key whose payment moved to another key", () => {
  let account: string;
  let payment: CallPayment;
  const callWith = (idempotencyKey: string, proof?: CallPayment) =>
    callOf(account, { idempotencyKey, payment: proof && { ...proof, transfer: undefined } });

  async function leave(): Promise<void> {
    account = await makeAccount(one.pool, 100n * PRICE);
    payment = paymentOf(depositOf());
    await fail(callOf(account, { idempotencyKey: "left", payment }));
  }

  it("replays the call that the payment bought there, without a charge", async () => {
    await leave();
    const moved = callWith("next", payment);
    await fail(callWith("between", payment));
    expect(await one.ledger.authorize(moved)).toEqual({ kind: "started" });
    for (const key of ["left", "between"])
      expect(await two.ledger.authorize(callWith(key))).toEqual({ kind: "in_progress" });
    await one.ledger.capture(completed(moved));
    for (const key of ["left", "between", "next", "left"])
      expect(kindOf(await two.ledger.authorize(callWith(key)))).toEqual({ kind: "replay", run: moved.runId });
    expect(await one.ledger.balance(account)).toBe(100n * PRICE);
  });

  it("passes its result to a second payment too", async () => {
    await leave();
    const moved = callWith("next", payment);
    await one.ledger.authorize(moved);
    await one.ledger.capture(completed(moved));
    const second = callOf(account, { idempotencyKey: "left", payment: paymentOf(depositOf()) });
    expect(kindOf(await two.ledger.authorize(second))).toEqual({ kind: "replay", run: moved.runId });
    expect(await one.ledger.balance(account)).toBe(100n * PRICE);
  });

  it("waits for that call within one batch, or while it starts elsewhere", async () => {
    await leave();
    const started = await Promise.all([
      one.ledger.authorize(callWith("next", payment)),
      one.ledger.authorize(callWith("left")),
    ]);
    expect(started).toEqual([{ kind: "started" }, { kind: "in_progress" }]);
    await leave();
    const both = await Promise.all([
      one.ledger.authorize(callWith("next", payment)),
      two.ledger.authorize(callWith("left")),
    ]);
    expect(both.map(({ kind }) => kind).toSorted()).toEqual(["in_progress", "started"]);
  });

  it("runs from the balance once that call failed too, and gets the payment back", async () => {
    await leave();
    await fail(callWith("next", payment));
    const alone = callWith("left");
    expect(await two.ledger.authorize(alone)).toEqual({ kind: "started" });
    for (const proof of [callWith("next", payment), callWith("new", payment), callWith("next")])
      expect(await one.ledger.authorize(proof)).toEqual({ kind: "in_progress" });
    await two.ledger.capture(completed(alone));
    for (const repeat of [
      callWith("next", payment),
      callWith("new", payment),
      callWith("next"),
      callWith("left"),
    ])
      expect(kindOf(await one.ledger.authorize(repeat))).toEqual({ kind: "replay", run: alone.runId });
    expect(await one.ledger.balance(account)).toBe(100n * PRICE);
  });

  it("is one call together with all keys of the payment, under concurrency", async () => {
    for (let round = 0; round < 10; round++) {
      await leave();
      await fail(callWith("between", payment));
      const calls = [
        callWith("next", payment),
        callWith("left"),
        callWith("between"),
        callWith("new", payment),
        callWith("left", payment),
      ];
      const started = await Promise.all(
        calls.map((call, n) => [one, two][(n + round) % 2]!.ledger.authorize(call)),
      );
      expect(started.map(({ kind }) => kind).toSorted()).toEqual([
        ...Array(4).fill("in_progress"),
        "started",
      ]);
    }
  });
});

describe("a key that expires while it is used again", () => {
  it("is claimed again and starts one call", async () => {
    const account = await makeAccount(one.pool, 100n * PRICE);
    const keys = ["a", "b"].map((idempotencyKey) => ({ idempotencyKey }));
    for (const key of keys) await fail(callOf(account, key));
    await one.pool.query(
      "update idempotency set expires_at = now() - interval '1 hour' where account_id = $1",
      [uuidOf("acct", account)],
    );
    const holder = await two.pool.connect();
    try {
      await holder.query("begin");
      await holder.query("select from idempotency where key = 'key:a' and account_id = $1 for update", [
        uuidOf("acct", account),
      ]);
      const started = keys.map((key) => one.ledger.authorize(callOf(account, key)));
      await untilWaiting(two.pool, one);
      expect(await two.sweeper.deleteExpiredClaims()).toBe(1);
      await holder.query("rollback");
      expect(await Promise.all(started)).toEqual([{ kind: "started" }, { kind: "started" }]);
      expect(await two.ledger.authorize(callOf(account, keys[1]))).toEqual({ kind: "in_progress" });
    } finally {
      await holder.query("rollback");
      holder.release();
    }
  });
});
