import type { VerifiedTransfer } from "../../../src/app/payments/payment-methods.ts";
import { kindOf } from "./reference-ledger.ts";
import { describe, expect, it } from "vitest";
import { signatureFrom } from "../../../src/postgres/database/row-mapping.ts";
import {
  callOf,
  completed,
  depositOf,
  expectCleanAudit,
  failed,
  fingerprintOf,
  newRunId,
  paymentOf,
  PRICE,
  untilWaiting,
  openLedger,
} from "../fixture.ts";

const { one, two, three, instances } = await openLedger();

/** The lookup of a call that is paid by the deposit. */
const lookupOf = (accountId: string, { network, reference, quoteId }: VerifiedTransfer) => ({
  ...{ accountId, fingerprint: fingerprintOf("call"), idempotencyKey: undefined },
  ...{ network, reference, quoteId },
});

describe("a payment", () => {
  it("is credited, held for its call and named by the receipt", async () => {
    const account = await one.account();
    const deposit = depositOf({ amount: PRICE + 5n, paidBy: "gasless" });
    const call = await one.start(account, { payment: paymentOf(deposit) });
    expect(await one.balance(account)).toBe(5n);
    expect(await one.ledger.capture(completed(call))).toMatchObject({
      kind: "captured",
      receipt: {
        txSignature: deposit.reference,
        quoteId: deposit.quoteId,
        stepId: call.payment?.stepId,
        paidBy: "gasless",
        debited: PRICE,
      },
    });
  });

  it("is credited and starts no call when it is less than the price", async () => {
    const account = await one.account();
    const deposit = depositOf({ amount: PRICE - 1n });
    const started = await one.authorize(account, { payment: paymentOf(deposit) });
    expect(started).toEqual({ kind: "insufficient", balance: PRICE - 1n });
    expect(await one.balance(account)).toBe(PRICE - 1n);
  });

  it("replays its call under any key, and then binds that key", async () => {
    const account = await one.account(5n * PRICE);
    const deposit = depositOf();
    const { call } = await one.buy(account, { idempotencyKey: "first", payment: paymentOf(deposit) });
    for (const idempotencyKey of [undefined, "first", "second"]) {
      const query = { ...lookupOf(account, deposit), idempotencyKey };
      expect(await two.authorize(account, { idempotencyKey, payment: paymentOf(deposit) })).toMatchObject({
        kind: "replay",
        receipt: { runId: call.runId },
      });
      expect(await two.ledger.findPrior(query)).toMatchObject({
        kind: "replay",
        result: { answer: 42 },
        receipt: { runId: call.runId },
      });
    }
    expect(await two.authorize(account, { idempotencyKey: "second" })).toMatchObject({
      kind: "replay",
    });
    expect(await one.balance(account)).toBe(5n * PRICE);
  });

  it("replays its call under a second key that was never looked up, and then binds that key", async () => {
    const account = await one.account(5n * PRICE);
    const payment = paymentOf(depositOf());
    const { call } = await one.buy(account, { idempotencyKey: "first", payment });
    for (const repeat of [{ payment }, {}]) {
      const started = await two.authorize(account, { idempotencyKey: "second", ...repeat });
      expect(kindOf(started)).toEqual({ kind: "replay", run: call.runId });
    }
    expect(await one.balance(account)).toBe(5n * PRICE);
  });

  it("is rejected as used by another account, quote or call", async () => {
    const account = await one.account();
    const other = await one.account();
    const deposit = depositOf();
    await one.start(account, { payment: paymentOf(deposit) });
    const calls = [
      callOf(other, { payment: paymentOf(deposit) }),
      callOf(account, { payment: paymentOf({ ...deposit, quoteId: "qt_other" }) }),
      callOf(account, {
        payment: paymentOf(deposit),
        fingerprint: fingerprintOf("other"),
        idempotencyKey: "new",
      }),
      callOf(account, { payment: { ...paymentOf(depositOf()), transfer: undefined } }),
    ];
    for (const used of calls) expect(await one.ledger.authorize(used)).toEqual({ kind: "payment_used" });
    expect(await one.balance(account)).toBe(0n);
    expect(await one.balance(other)).toBe(0n);
  });

  it("is rejected as used when unseen, also if its quote was paid by another payment", async () => {
    const account = await one.account(PRICE);
    const deposit = depositOf();
    await one.authorize(account, { payment: paymentOf(deposit) });
    const unseen = { ...paymentOf(depositOf({ quoteId: deposit.quoteId })), transfer: undefined };
    expect(await one.authorize(account, { payment: unseen })).toEqual({
      kind: "payment_used",
    });
  });

  it("is credited although its quote was paid by another transaction", async () => {
    const account = await one.account();
    const deposit = depositOf();
    await one.authorize(account, { payment: paymentOf(deposit) });
    const second = depositOf({ quoteId: deposit.quoteId });
    const call = callOf(account, { idempotencyKey: "q", payment: paymentOf(second) });
    expect(await two.ledger.authorize(call)).toEqual({ kind: "quote_paid" });
    expect(await one.balance(account)).toBe(PRICE);
    expect(await two.ledger.authorize({ ...call, runId: newRunId() })).toEqual({ kind: "quote_paid" });
    expect(await one.balance(account)).toBe(PRICE);
  });

  it("starts one call for two concurrent transactions of one quote and credits the other", async () => {
    const account = await one.account();
    for (let round = 0; round < 10; round++) {
      const first = depositOf();
      const second = depositOf({ quoteId: first.quoteId });
      const started = await Promise.all([
        one.authorize(account, { payment: paymentOf(first) }),
        (round % 2 === 0 ? one : two).ledger.authorize(callOf(account, { payment: paymentOf(second) })),
      ]);
      expect(started.map(({ kind }) => kind).toSorted()).toEqual(["quote_paid", "started"]);
    }
    expect(await one.balance(account)).toBe(10n * PRICE);
  });

  it("starts one call for 60 concurrent proofs on three instances, with and without keys", async () => {
    const account = await one.account(100n * PRICE);
    const deposit = depositOf();
    const started = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        instances[n % 3]!.ledger.authorize(
          callOf(account, {
            idempotencyKey: n % 4 === 0 ? undefined : `key ${n % 4}`,
            payment: paymentOf(deposit),
          }),
        ),
      ),
    );
    expect(started.filter(({ kind }) => kind === "started")).toHaveLength(1);
    expect(started.filter(({ kind }) => kind === "in_progress")).toHaveLength(59);
    expect(await one.balance(account)).toBe(100n * PRICE);
  });

  it("pays for a retry of its failed call under any key, one at a time", async () => {
    const account = await one.account(100n * PRICE);
    const deposit = depositOf();
    await one.fail(account, { idempotencyKey: "x", payment: paymentOf(deposit) });
    const query = lookupOf(account, deposit);
    expect(await two.ledger.findPrior(query)).toEqual({ kind: "credited", idempotencyKey: "x" });
    const payment = { ...paymentOf(deposit), transfer: undefined };
    const keys = ["x", "y", "z", undefined];
    const calls = Array.from({ length: 24 }, (_, n) =>
      callOf(account, { idempotencyKey: keys[n % 4], payment }),
    );
    const started = await Promise.all(calls.map((call, n) => instances[n % 3]!.ledger.authorize(call)));
    expect(started.filter(({ kind }) => kind === "started")).toHaveLength(1);
    const winner = started.findIndex(({ kind }) => kind === "started");
    expect(await instances[winner % 3]!.ledger.capture(completed(calls[winner]!))).toMatchObject({
      kind: "captured",
      receipt: { txSignature: deposit.reference, paidBy: "transfer" },
    });
    for (const idempotencyKey of keys) {
      expect(await one.authorize(account, { idempotencyKey, payment })).toMatchObject({
        kind: "replay",
        receipt: { runId: calls[winner]!.runId },
      });
    }
    expect(await one.balance(account)).toBe(100n * PRICE);
  });

  it("does not pay under a new key while its own key runs again without it, even within one batch", async () => {
    const account = await one.account(100n * PRICE);
    const deposit = depositOf();
    await one.fail(account, { idempotencyKey: "own", payment: paymentOf(deposit) });
    const started = await Promise.all([
      one.authorize(account, { idempotencyKey: "own" }),
      one.authorize(account, { idempotencyKey: "new", payment: paymentOf(deposit) }),
    ]);
    expect(started).toEqual([{ kind: "started" }, { kind: "in_progress" }]);
  });

  it("buys one call for two payments that come with each other's key in one batch", async () => {
    const account = await one.account();
    const [first, second] = [depositOf(), depositOf()];
    for (const [idempotencyKey, deposit] of [
      ["1", first],
      ["2", second],
    ] as const) {
      await one.fail(account, { idempotencyKey, payment: paymentOf(deposit) });
    }
    const started = await Promise.all([
      one.authorize(account, { idempotencyKey: "2", payment: { ...paymentOf(first), transfer: undefined } }),
      one.authorize(account, { idempotencyKey: "1", payment: { ...paymentOf(second), transfer: undefined } }),
    ]);
    expect(started.map(({ kind }) => kind)).toEqual(["started", "in_progress"]);
  });

  it("is judged again when it moves to another claim while its call waits", async () => {
    const account = await one.account(100n * PRICE);
    const deposit = depositOf();
    const payment = paymentOf(deposit);
    for (const idempotencyKey of ["old", "new"]) {
      await one.fail(account, {
        idempotencyKey,
        payment: idempotencyKey === "old" ? payment : undefined,
      });
    }
    // Two other transactions: one moves the payment to the new claim, the other runs the new claim.
    const [mover, runner] = [await three.pool.connect(), await three.pool.connect()];
    const lock = "select from idempotency where account_id = $1 and key = $2 for update";
    try {
      await mover.query("begin");
      await runner.query("begin");
      await mover.query(lock, [account.slice(5), "key:old"]);
      await runner.query(lock, [account.slice(5), "key:new"]);
      const started = one.authorize(account, { idempotencyKey: "third", payment });
      await untilWaiting(two.pool, one);
      await mover.query("update payment set claim_key = 'key:new' where reference = $1", [
        signatureFrom(deposit.reference),
      ]);
      await mover.query("commit");
      await untilWaiting(two.pool, one);
      const run = callOf(account, { idempotencyKey: "new", payment });
      await runner.query("rollback");
      const both = await Promise.all([started, two.ledger.authorize(run)]);
      expect(both.map(({ kind }) => kind).toSorted()).toEqual(["in_progress", "started"]);
    } finally {
      await mover.query("rollback");
      await runner.query("rollback");
      mover.release();
      runner.release();
    }
  });

  it("is looked up before the chain query: unknown, running or used", async () => {
    const account = await one.account();
    const deposit = depositOf();
    const call = callOf(account, { payment: paymentOf(deposit) });
    const query = lookupOf(account, deposit);
    expect(await one.ledger.findPrior(query)).toBeUndefined();
    await one.ledger.authorize(call);
    expect(await two.ledger.findPrior(query)).toEqual({ kind: "in_progress" });
    for (const idempotencyKey of [undefined, "other"]) {
      expect(
        await two.ledger.findPrior({ ...query, fingerprint: fingerprintOf("other"), idempotencyKey }),
      ).toEqual({
        kind: "payment_used",
      });
      expect(await two.ledger.findPrior({ ...query, quoteId: "qt_other", idempotencyKey })).toEqual({
        kind: "payment_used",
      });
    }
    expect(await two.ledger.findPrior({ ...query, reference: depositOf().reference })).toBeUndefined();
  });

  it("is looked up correctly in a batch", async () => {
    const account = await one.account();
    const deposits = Array.from({ length: 12 }, () => depositOf());
    const calls = deposits.map((deposit) => callOf(account, { payment: paymentOf(deposit) }));
    const started = calls.filter((_, index) => index % 3 === 0);
    await Promise.all(started.map((call) => one.ledger.authorize(call)));
    const reported = await Promise.all(
      deposits.map((deposit) => two.ledger.findPrior(lookupOf(account, deposit))),
    );
    expect(reported).toEqual(
      calls.map((call) => (started.includes(call) ? { kind: "in_progress" } : undefined)),
    );
  });

  it("is credited once without a call", async () => {
    const account = await one.account();
    const deposit = depositOf({ amount: 3n });
    const credits = await Promise.all(
      Array.from({ length: 12 }, (_, n) => instances[n % 3]!.ledger.credit(account, deposit)),
    );
    expect(credits.filter(({ credited }) => credited)).toHaveLength(1);
    expect(await one.ledger.credit(account, deposit)).toEqual({ credited: false, balance: 3n });
  });

  it("buys the call of its quote once, although another instance credited it first", async () => {
    const account = await one.account();
    const deposit = depositOf();
    await one.ledger.credit(account, deposit);
    const call = callOf(account, { payment: paymentOf(deposit) });
    expect(await two.ledger.findPrior(lookupOf(account, deposit))).toBeUndefined();
    expect(await two.ledger.authorize(call)).toEqual({ kind: "started" });
    expect(await one.balance(account)).toBe(0n);
    await two.ledger.capture(completed(call));
    const repeat = await one.authorize(account, { payment: paymentOf(deposit) });
    expect(kindOf(repeat)).toEqual({ kind: "replay", run: call.runId });
    expect(await one.balance(account)).toBe(0n);
  });

  it("buys one call for two credited payments of one quote, without blocking other calls", async () => {
    const account = await one.account();
    const other = await one.account();
    const first = depositOf();
    const second = depositOf({ quoteId: first.quoteId });
    const neighbour = depositOf();
    await Promise.all([first, second].map((deposit) => one.ledger.credit(account, deposit)));
    await one.ledger.credit(other, neighbour);
    const started = await Promise.all([
      one.authorize(account, { payment: paymentOf(first) }),
      one.authorize(account, { payment: paymentOf(second) }),
      one.authorize(other, { payment: paymentOf(neighbour) }),
    ]);
    expect(started.map(({ kind }) => kind)).toEqual(["started", "quote_paid", "started"]);
  });

  it("counts once and buys one call when credited and claimed at once", async () => {
    const account = await one.account();
    for (let round = 0; round < 20; round++) {
      const deposit = depositOf();
      const started = [one, two, three].map(({ ledger }) =>
        ledger.authorize(callOf(account, { payment: paymentOf(deposit) })),
      );
      const credits = [three, one].map(({ ledger }) => ledger.credit(account, deposit));
      const kinds = (await Promise.all(started)).map(({ kind }) => kind).toSorted();
      await Promise.all(credits);
      expect(kinds).toEqual(["in_progress", "in_progress", "started"]);
      expect(await one.balance(account)).toBe(0n);
    }
  });

  it("needs funds when its credit was spent, and buys the call once there are some", async () => {
    const account = await one.account();
    const deposit = depositOf();
    await one.ledger.credit(account, deposit);
    const spent = await one.start(account);
    const paid = () => callOf(account, { payment: paymentOf(deposit) });
    expect(await one.ledger.authorize(paid())).toEqual({ kind: "insufficient", balance: 0n });
    await one.ledger.release(failed(spent));
    expect(await one.ledger.authorize(paid())).toEqual({ kind: "started" });
    expect(await one.balance(account)).toBe(0n);
  });

  it("of an unknown account is rejected, and its batch continues", async () => {
    const account = await one.account(PRICE);
    const ghost = `acct_${"0".repeat(31)}9`;
    const [bad, good] = await Promise.allSettled([
      one.authorize(ghost, { payment: paymentOf(depositOf()) }),
      one.authorize(account),
    ]);
    expect(bad.status).toBe("rejected");
    expect(good).toMatchObject({ status: "fulfilled", value: { kind: "started" } });
  });
});

it("leaves a ledger that passes the audit", () => expectCleanAudit(one.pool));
