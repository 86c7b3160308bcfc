import { kindOf } from "./reference-ledger.ts";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { signatureFrom } from "../../src/postgres/rows.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import {
  callOf,
  completed,
  depositOf,
  expectCleanAudit,
  failed,
  fingerprintOf,
  makeAccount,
  newRunId,
  openInstance,
  paymentOf,
  PRICE,
  type Instance,
} from "./fixture.ts";

let database: TestDatabase;
let one: Instance;
let two: Instance;
let three: Instance;

beforeAll(async () => {
  database = await createTestDatabase();
  [one, two, three] = [openInstance(database.url), openInstance(database.url), openInstance(database.url)];
});
afterAll(async () => {
  await Promise.all([one, two, three].map((instance) => instance.close()));
  await database.drop();
});

afterEach(() => expectCleanAudit(one.pool));

describe("a call from the balance", () => {
  it("holds its price, and captures it when it completes", async () => {
    const account = await makeAccount(one.pool, 25_000n);
    const call = callOf(account);
    expect(await one.ledger.begin(call)).toEqual({ kind: "started" });
    expect(await one.ledger.balance(account)).toBe(15_000n);
    const finished = await one.ledger.finish(completed(call));
    expect(finished).toMatchObject({
      kind: "captured",
      receipt: {
        runId: call.runId,
        tool: "vram_estimate",
        quoted: PRICE,
        debited: PRICE,
        refunded: 0n,
        paidBy: "balance",
        status: "final",
        txSignature: undefined,
      },
    });
    expect(await one.ledger.balance(account)).toBe(15_000n);
  });

  it("is told the balance when that does not cover it, and leaves nothing behind", async () => {
    const account = await makeAccount(one.pool, 9_999n);
    const call = callOf(account, { idempotencyKey: "k" });
    expect(await one.ledger.begin(call)).toEqual({ kind: "insufficient", balance: 9_999n });
    expect((await one.pool.query("select from idempotency where run_id = $1", [call.runId.slice(4)])).rowCount).toBe(0);
    expect(
      await one.ledger.begin(
        callOf(account, { idempotencyKey: "k", fingerprint: fingerprintOf("other"), price: 9_999n }),
      ),
    ).toEqual({ kind: "started" });
  });

  it("starts as soon as the balance covers it, however short that was the last time", async () => {
    const account = await makeAccount(one.pool, 0n);
    expect(await one.ledger.begin(callOf(account))).toEqual({ kind: "insufficient", balance: 0n });
    await two.ledger.credit(account, depositOf());
    expect(await one.ledger.begin(callOf(account))).toEqual({ kind: "started" });
  });

  it("gives the price back when it fails", async () => {
    const account = await makeAccount(one.pool, PRICE);
    const call = callOf(account);
    await one.ledger.begin(call);
    expect(await one.ledger.finish(failed(call))).toEqual({ kind: "released" });
    expect(await one.ledger.balance(account)).toBe(PRICE);
  });

  it("ends whatever characters its error is made of, and so do those that end with it", async () => {
    const account = await makeAccount(one.pool, 2n * PRICE);
    const [odd, plain] = [callOf(account), callOf(account)];
    await Promise.all([odd, plain].map((call) => one.ledger.begin(call)));
    const error = { code: "TOOL_FAILED", message: "a\0b \ud800 c" } as const;
    const ended = await Promise.all([
      one.ledger.finish({ runId: odd.runId, outcome: "failed", error }),
      one.ledger.finish(failed(plain)),
    ]);
    expect(ended).toEqual([{ kind: "released" }, { kind: "released" }]);
    const { rows } = await one.pool.query("select error_message from run where id = $1", [odd.runId.slice(4)]);
    expect(rows).toEqual([{ error_message: "ab \ufffd c" }]);
  });

  it("of 200 at once on a balance for 7, exactly 7 start", async () => {
    const account = await makeAccount(one.pool, 7n * PRICE + 9_999n);
    const begun = await Promise.all(
      Array.from({ length: 200 }, (_, n) => [one, two, three][n % 3]!.ledger.begin(callOf(account))),
    );
    expect(begun.filter(({ kind }) => kind === "started")).toHaveLength(7);
    expect(await one.ledger.balance(account)).toBe(9_999n);
  });

  it("within one batch, a smaller call still fits where a larger one did not, in order of arrival", async () => {
    const account = await makeAccount(one.pool, 10n);
    const prices = [6n, 5n, 3n, 2n, 1n];
    const begun = await Promise.all(prices.map((price) => one.ledger.begin(callOf(account, { price }))));
    expect(begun.map(({ kind }) => kind)).toEqual(["started", "insufficient", "started", "insufficient", "started"]);
  });
});

describe("an idempotency key", () => {
  it("replays a completed call with its result and receipt, once charged", async () => {
    const account = await makeAccount(one.pool, 3n * PRICE);
    const call = callOf(account, { idempotencyKey: "a" });
    await one.ledger.begin(call);
    const finished = await one.ledger.finish(completed(call, { answer: 7 }));
    const again = await two.ledger.begin(callOf(account, { idempotencyKey: "a" }));
    expect(again).toEqual({
      kind: "replay",
      result: { answer: 7 },
      receipt: finished.kind === "captured" ? finished.receipt : undefined,
    });
    expect(await one.ledger.balance(account)).toBe(2n * PRICE);
  });

  it("keeps every character of a stored result", async () => {
    const account = await makeAccount(one.pool, PRICE);
    const call = callOf(account, { idempotencyKey: "odd" });
    const result = { text: 'NUL \0, lone surrogate \ud800, {"a":1}, \\x00', big: 1e300, "": [null, {}], __proto__x: 1 };
    await one.ledger.begin(call);
    await one.ledger.finish({ ...completed(call), result });
    expect(await one.ledger.begin(callOf(account, { idempotencyKey: "odd" }))).toMatchObject({
      kind: "replay",
      result,
    });
  });

  it("is in progress while its call runs, on every instance", async () => {
    const account = await makeAccount(one.pool, 3n * PRICE);
    await one.ledger.begin(callOf(account, { idempotencyKey: "b" }));
    expect(await two.ledger.begin(callOf(account, { idempotencyKey: "b" }))).toEqual({ kind: "in_progress" });
    expect(await one.ledger.balance(account)).toBe(2n * PRICE);
  });

  it("is a mismatch with another call, and belongs to one account", async () => {
    const account = await makeAccount(one.pool, 3n * PRICE);
    const other = await makeAccount(one.pool, PRICE);
    await one.ledger.begin(callOf(account, { idempotencyKey: "c" }));
    expect(
      await one.ledger.begin(callOf(account, { idempotencyKey: "c", fingerprint: fingerprintOf("other") })),
    ).toEqual({ kind: "mismatch" });
    expect(await one.ledger.begin(callOf(other, { idempotencyKey: "c" }))).toEqual({ kind: "started" });
  });

  it("runs again after a failure, and is charged once", async () => {
    const account = await makeAccount(one.pool, PRICE);
    const first = callOf(account, { idempotencyKey: "d" });
    await one.ledger.begin(first);
    await one.ledger.finish(failed(first));
    const second = callOf(account, { idempotencyKey: "d" });
    expect(await two.ledger.begin(second)).toEqual({ kind: "started" });
    expect(await two.ledger.finish(completed(second))).toMatchObject({ kind: "captured" });
    expect(await one.ledger.begin(callOf(account, { idempotencyKey: "d" }))).toMatchObject({ kind: "replay" });
    expect(await one.ledger.balance(account)).toBe(0n);
  });

  it("that looks like the claim of a payment is a key like any other", async () => {
    const account = await makeAccount(one.pool, PRICE);
    const deposit = depositOf();
    await one.ledger.begin(callOf(account, { payment: paymentOf(deposit) }));
    const call = callOf(account, { idempotencyKey: `pay:${deposit.txSignature}`, fingerprint: fingerprintOf("other") });
    expect(await one.ledger.begin(call)).toEqual({ kind: "started" });
    await one.ledger.finish(completed(call));
    const { txSignature } = depositOf();
    expect(await one.ledger.prior({ ...call, txSignature, quoteId: "qt_other" })).toMatchObject({ kind: "replay" });
  });

  it("of 60 calls with one key over three instances, one starts", async () => {
    const account = await makeAccount(one.pool, 100n * PRICE);
    const begun = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        [one, two, three][n % 3]!.ledger.begin(callOf(account, { idempotencyKey: "race" })),
      ),
    );
    expect(begun.filter(({ kind }) => kind === "started")).toHaveLength(1);
    expect(begun.filter(({ kind }) => kind === "in_progress")).toHaveLength(59);
    expect(await one.ledger.balance(account)).toBe(99n * PRICE);
  });

  it("of 60 retries of a failed call over three instances, one starts", async () => {
    const account = await makeAccount(one.pool, 100n * PRICE);
    for (let round = 0; round < 6; round++) {
      const first = callOf(account, { idempotencyKey: `retry ${round}` });
      await one.ledger.begin(first);
      await one.ledger.finish(failed(first));
      const begun = await Promise.all(
        Array.from({ length: 60 }, (_, n) =>
          [one, two, three][n % 3]!.ledger.begin(callOf(account, { idempotencyKey: `retry ${round}` })),
        ),
      );
      expect(begun.filter(({ kind }) => kind === "started")).toHaveLength(1);
    }
    expect(await one.ledger.balance(account)).toBe(94n * PRICE);
  });

  it("lets a free call begin on a balance below zero", async () => {
    const account = await makeAccount(one.pool, 0n);
    await one.pool.query("update account set available = -5 where id = $1", [account.slice(5)]);
    try {
      expect(await one.ledger.begin(callOf(account))).toEqual({ kind: "insufficient", balance: -5n });
      for (const idempotencyKey of ["free", undefined]) {
        expect(await one.ledger.begin(callOf(account, { idempotencyKey, price: 0n }))).toEqual({ kind: "started" });
      }
    } finally {
      await one.pool.query("update account set available = 0 where id = $1", [account.slice(5)]);
    }
  });

  it("stores the answer of a free call, which has no hold and no receipt", async () => {
    const account = await makeAccount(one.pool, 0n);
    const call = callOf(account, { idempotencyKey: "free", price: 0n, tool: "echo" });
    expect(await one.ledger.begin(call)).toEqual({ kind: "started" });
    expect(await one.ledger.finish(completed(call))).toEqual({ kind: "captured", receipt: undefined });
    expect(await one.ledger.begin({ ...call, runId: newRunId() })).toEqual({
      kind: "replay",
      result: { answer: 42 },
      receipt: undefined,
    });
  });
});

describe("runs that end together", () => {
  it("lock their keys in one order, whether they completed or failed", async () => {
    const account = await makeAccount(one.pool, 2n * PRICE);
    const [first, last] = [callOf(account, { idempotencyKey: "a" }), callOf(account, { idempotencyKey: "b" })];
    await Promise.all([first, last].map((call) => one.ledger.begin(call)));
    const holder = await three.pool.connect();
    const lock = "select from idempotency where account_id = $1 and key = $2 for update nowait";
    try {
      await holder.query("begin");
      await holder.query(lock, [account.slice(5), "key:a"]);
      const ended = Promise.all([one.ledger.finish(failed(first)), one.ledger.finish(completed(last))]);
      await untilWaiting(one);
      // Who waits for the first key does not hold the last one yet.
      await holder.query(lock, [account.slice(5), "key:b"]);
      await holder.query("commit");
      expect((await ended).map(({ kind }) => kind)).toEqual(["released", "captured"]);
    } finally {
      await holder.query("rollback");
      holder.release();
    }
  });
});

describe("a payment", () => {
  it("is credited and held with its call, and named by the receipt", async () => {
    const account = await makeAccount(one.pool, 0n);
    const deposit = depositOf({ amount: PRICE + 5n, paidBy: "gasless" });
    const call = callOf(account, { payment: paymentOf(deposit) });
    expect(await one.ledger.begin(call)).toEqual({ kind: "started" });
    expect(await one.ledger.balance(account)).toBe(5n);
    expect(await one.ledger.finish(completed(call))).toMatchObject({
      kind: "captured",
      receipt: {
        txSignature: deposit.txSignature,
        quoteId: deposit.quoteId,
        stepId: call.payment?.stepId,
        paidBy: "gasless",
        debited: PRICE,
      },
    });
  });

  it("replays its call whatever key the repeat carries, and that key alone from then on", async () => {
    const account = await makeAccount(one.pool, 5n * PRICE);
    const deposit = depositOf();
    const call = callOf(account, { idempotencyKey: "first", payment: paymentOf(deposit) });
    await one.ledger.begin(call);
    await one.ledger.finish(completed(call));
    for (const idempotencyKey of [undefined, "first", "second"]) {
      const query = {
        accountId: account,
        fingerprint: call.fingerprint,
        idempotencyKey,
        txSignature: deposit.txSignature,
        quoteId: deposit.quoteId,
      };
      expect(await two.ledger.begin(callOf(account, { idempotencyKey, payment: paymentOf(deposit) }))).toMatchObject({
        kind: "replay",
        receipt: { runId: call.runId },
      });
      expect(await two.ledger.prior(query)).toMatchObject({
        kind: "replay",
        result: { answer: 42 },
        receipt: { runId: call.runId },
      });
    }
    expect(await two.ledger.begin(callOf(account, { idempotencyKey: "second" }))).toMatchObject({ kind: "replay" });
    expect(await one.ledger.balance(account)).toBe(5n * PRICE);
  });

  it("replays its call under a second key that nobody asked about before, and that key alone from then on", async () => {
    const account = await makeAccount(one.pool, 5n * PRICE);
    const payment = paymentOf(depositOf());
    const call = callOf(account, { idempotencyKey: "first", payment });
    await one.ledger.begin(call);
    await one.ledger.finish(completed(call));
    for (const repeat of [{ payment }, {}]) {
      const begun = await two.ledger.begin(callOf(account, { idempotencyKey: "second", ...repeat }));
      expect(kindOf(begun)).toEqual({ kind: "replay", run: call.runId });
    }
    expect(await one.ledger.balance(account)).toBe(5n * PRICE);
  });

  it("is used: by another account, for another quote, for another call", async () => {
    const account = await makeAccount(one.pool, 0n);
    const other = await makeAccount(one.pool, 0n);
    const deposit = depositOf();
    const call = callOf(account, { payment: paymentOf(deposit) });
    await one.ledger.begin(call);
    const calls = [
      callOf(other, { payment: paymentOf(deposit) }),
      callOf(account, { payment: paymentOf({ ...deposit, quoteId: "qt_other" }) }),
      callOf(account, { payment: paymentOf(deposit), fingerprint: fingerprintOf("other"), idempotencyKey: "new" }),
      callOf(account, { payment: { ...paymentOf(depositOf()), deposit: undefined } }),
    ];
    for (const used of calls) expect(await one.ledger.begin(used)).toEqual({ kind: "payment_used" });
    expect(await one.ledger.balance(account)).toBe(0n);
    expect(await one.ledger.balance(other)).toBe(0n);
  });

  it("that nobody saw is used, also when its quote was paid by another one", async () => {
    const account = await makeAccount(one.pool, PRICE);
    const deposit = depositOf();
    await one.ledger.begin(callOf(account, { payment: paymentOf(deposit) }));
    const unseen = { ...paymentOf(depositOf({ quoteId: deposit.quoteId })), deposit: undefined };
    expect(await one.ledger.begin(callOf(account, { payment: unseen }))).toEqual({ kind: "payment_used" });
  });

  it("is credited all the same when its quote was paid before by another transaction", async () => {
    const account = await makeAccount(one.pool, 0n);
    const deposit = depositOf();
    await one.ledger.begin(callOf(account, { payment: paymentOf(deposit) }));
    const second = depositOf({ quoteId: deposit.quoteId });
    const call = callOf(account, { idempotencyKey: "q", payment: paymentOf(second) });
    expect(await two.ledger.begin(call)).toEqual({ kind: "quote_paid" });
    expect(await one.ledger.balance(account)).toBe(PRICE);
    expect(await two.ledger.begin({ ...call, runId: newRunId() })).toEqual({ kind: "quote_paid" });
    expect(await one.ledger.balance(account)).toBe(PRICE);
  });

  it("of two transactions for one quote at once, one starts and the other is credited", async () => {
    const account = await makeAccount(one.pool, 0n);
    for (let round = 0; round < 10; round++) {
      const first = depositOf();
      const second = depositOf({ quoteId: first.quoteId });
      const begun = await Promise.all([
        one.ledger.begin(callOf(account, { payment: paymentOf(first) })),
        (round % 2 === 0 ? one : two).ledger.begin(callOf(account, { payment: paymentOf(second) })),
      ]);
      expect(begun.map(({ kind }) => kind).toSorted()).toEqual(["quote_paid", "started"]);
    }
    expect(await one.ledger.balance(account)).toBe(10n * PRICE);
  });

  it("of 60 proofs of it at once over three instances, with and without keys, one starts", async () => {
    const account = await makeAccount(one.pool, 100n * PRICE);
    const deposit = depositOf();
    const begun = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        [one, two, three][n % 3]!.ledger.begin(
          callOf(account, { idempotencyKey: n % 4 === 0 ? undefined : `key ${n % 4}`, payment: paymentOf(deposit) }),
        ),
      ),
    );
    expect(begun.filter(({ kind }) => kind === "started")).toHaveLength(1);
    expect(begun.filter(({ kind }) => kind === "in_progress")).toHaveLength(59);
    expect(await one.ledger.balance(account)).toBe(100n * PRICE);
  });

  it("pays again for its call after a failure, under any key, at one call at a time", async () => {
    const account = await makeAccount(one.pool, 100n * PRICE);
    const deposit = depositOf();
    const first = callOf(account, { idempotencyKey: "x", payment: paymentOf(deposit) });
    await one.ledger.begin(first);
    await one.ledger.finish(failed(first));
    const query = {
      accountId: account,
      fingerprint: first.fingerprint,
      idempotencyKey: undefined,
      txSignature: deposit.txSignature,
      quoteId: deposit.quoteId,
    };
    expect(await two.ledger.prior(query)).toEqual({ kind: "credited" });
    const payment = { ...paymentOf(deposit), deposit: undefined };
    const keys = ["x", "y", "z", undefined];
    const calls = Array.from({ length: 24 }, (_, n) => callOf(account, { idempotencyKey: keys[n % 4], payment }));
    const begun = await Promise.all(calls.map((call, n) => [one, two, three][n % 3]!.ledger.begin(call)));
    expect(begun.filter(({ kind }) => kind === "started")).toHaveLength(1);
    const winner = begun.findIndex(({ kind }) => kind === "started");
    expect(await [one, two, three][winner % 3]!.ledger.finish(completed(calls[winner]!))).toMatchObject({
      kind: "captured",
      receipt: { txSignature: deposit.txSignature, paidBy: "transfer" },
    });
    for (const idempotencyKey of keys) {
      expect(await one.ledger.begin(callOf(account, { idempotencyKey, payment }))).toMatchObject({
        kind: "replay",
        receipt: { runId: calls[winner]!.runId },
      });
    }
    expect(await one.ledger.balance(account)).toBe(100n * PRICE);
  });

  it("does not pay under a new key while its own key runs again without it, not even in one batch", async () => {
    const account = await makeAccount(one.pool, 100n * PRICE);
    const deposit = depositOf();
    const first = callOf(account, { idempotencyKey: "own", payment: paymentOf(deposit) });
    await one.ledger.begin(first);
    await one.ledger.finish(failed(first));
    const begun = await Promise.all([
      one.ledger.begin(callOf(account, { idempotencyKey: "own" })),
      one.ledger.begin(callOf(account, { idempotencyKey: "new", payment: paymentOf(deposit) })),
    ]);
    expect(begun).toEqual([{ kind: "started" }, { kind: "in_progress" }]);
  });

  it("of two that each come with the other's key in one batch, one buys its call", async () => {
    const account = await makeAccount(one.pool, 0n);
    const [first, second] = [depositOf(), depositOf()];
    for (const [idempotencyKey, deposit] of [
      ["1", first],
      ["2", second],
    ] as const) {
      const call = callOf(account, { idempotencyKey, payment: paymentOf(deposit) });
      await one.ledger.begin(call);
      await one.ledger.finish(failed(call));
    }
    const begun = await Promise.all([
      one.ledger.begin(callOf(account, { idempotencyKey: "2", payment: { ...paymentOf(first), deposit: undefined } })),
      one.ledger.begin(callOf(account, { idempotencyKey: "1", payment: { ...paymentOf(second), deposit: undefined } })),
    ]);
    expect(begun.map(({ kind }) => kind)).toEqual(["started", "in_progress"]);
  });

  it("that moved to another claim while its call waited is judged anew", async () => {
    const account = await makeAccount(one.pool, 100n * PRICE);
    const deposit = depositOf();
    const payment = paymentOf(deposit);
    for (const idempotencyKey of ["old", "new"]) {
      const call = callOf(account, { idempotencyKey, payment: idempotencyKey === "old" ? payment : undefined });
      await one.ledger.begin(call);
      await one.ledger.finish(failed(call));
    }
    // Two others at work: one moves the payment from the old claim to the new one, the other has the new one running.
    const [mover, runner] = [await three.pool.connect(), await three.pool.connect()];
    const lock = "select from idempotency where account_id = $1 and key = $2 for update";
    try {
      await mover.query("begin");
      await runner.query("begin");
      await mover.query(lock, [account.slice(5), "key:old"]);
      await runner.query(lock, [account.slice(5), "key:new"]);
      const begun = one.ledger.begin(callOf(account, { idempotencyKey: "third", payment }));
      await untilWaiting(one);
      await mover.query("update payment set claim_key = 'key:new' where tx_signature = $1", [
        signatureFrom(deposit.txSignature),
      ]);
      await mover.query("commit");
      await untilWaiting(one);
      const run = callOf(account, { idempotencyKey: "new", payment });
      await runner.query("rollback");
      const both = await Promise.all([begun, two.ledger.begin(run)]);
      expect(both.map(({ kind }) => kind).toSorted()).toEqual(["in_progress", "started"]);
    } finally {
      await mover.query("rollback");
      await runner.query("rollback");
      mover.release();
      runner.release();
    }
  });

  it("is told before the chain is asked: nothing known, running, used", async () => {
    const account = await makeAccount(one.pool, 0n);
    const deposit = depositOf();
    const call = callOf(account, { payment: paymentOf(deposit) });
    const query = {
      accountId: account,
      fingerprint: call.fingerprint,
      idempotencyKey: undefined,
      txSignature: deposit.txSignature,
      quoteId: deposit.quoteId,
    };
    expect(await one.ledger.prior(query)).toBeUndefined();
    await one.ledger.begin(call);
    expect(await two.ledger.prior(query)).toEqual({ kind: "in_progress" });
    for (const idempotencyKey of [undefined, "other"]) {
      expect(await two.ledger.prior({ ...query, fingerprint: fingerprintOf("other"), idempotencyKey })).toEqual({
        kind: "payment_used",
      });
      expect(await two.ledger.prior({ ...query, quoteId: "qt_other", idempotencyKey })).toEqual({
        kind: "payment_used",
      });
    }
    expect(await two.ledger.prior({ ...query, txSignature: depositOf().txSignature })).toBeUndefined();
  });

  it("that begins no call is credited once", async () => {
    const account = await makeAccount(one.pool, 0n);
    const deposit = depositOf({ amount: 3n });
    const credits = await Promise.all(
      Array.from({ length: 12 }, (_, n) => [one, two, three][n % 3]!.ledger.credit(account, deposit)),
    );
    expect(credits.filter(({ credited }) => credited)).toHaveLength(1);
    expect(await one.ledger.credit(account, deposit)).toEqual({ credited: false, balance: 3n });
  });

  it("that was credited before by somebody else still buys the call of its quote, once", async () => {
    const account = await makeAccount(one.pool, 0n);
    const deposit = depositOf();
    await one.ledger.credit(account, deposit);
    const call = callOf(account, { payment: paymentOf(deposit) });
    expect(
      await two.ledger.prior({
        ...deposit,
        accountId: account,
        fingerprint: call.fingerprint,
        idempotencyKey: undefined,
      }),
    ).toBeUndefined();
    expect(await two.ledger.begin(call)).toEqual({ kind: "started" });
    expect(await one.ledger.balance(account)).toBe(0n);
    await two.ledger.finish(completed(call));
    const repeat = await one.ledger.begin(callOf(account, { payment: paymentOf(deposit) }));
    expect(kindOf(repeat)).toEqual({ kind: "replay", run: call.runId });
    expect(await one.ledger.balance(account)).toBe(0n);
  });

  it("of two credited before for one quote, one buys its call and neither holds up their neighbours", async () => {
    const account = await makeAccount(one.pool, 0n);
    const other = await makeAccount(one.pool, 0n);
    const first = depositOf();
    const second = depositOf({ quoteId: first.quoteId });
    const neighbour = depositOf();
    await Promise.all([first, second].map((deposit) => one.ledger.credit(account, deposit)));
    await one.ledger.credit(other, neighbour);
    const begun = await Promise.all([
      one.ledger.begin(callOf(account, { payment: paymentOf(first) })),
      one.ledger.begin(callOf(account, { payment: paymentOf(second) })),
      one.ledger.begin(callOf(other, { payment: paymentOf(neighbour) })),
    ]);
    expect(begun.map(({ kind }) => kind)).toEqual(["started", "quote_paid", "started"]);
  });

  it("that is credited and claimed at once counts once and buys one call", async () => {
    const account = await makeAccount(one.pool, 0n);
    for (let round = 0; round < 20; round++) {
      const deposit = depositOf();
      const begun = [one, two, three].map(({ ledger }) =>
        ledger.begin(callOf(account, { payment: paymentOf(deposit) })),
      );
      const credits = [three, one].map(({ ledger }) => ledger.credit(account, deposit));
      const kinds = (await Promise.all(begun)).map(({ kind }) => kind).toSorted();
      await Promise.all(credits);
      expect(kinds).toEqual(["in_progress", "in_progress", "started"]);
      expect(await one.ledger.balance(account)).toBe(0n);
    }
  });

  it("whose credit was spent before its call asks for money, and buys the call when there is some", async () => {
    const account = await makeAccount(one.pool, 0n);
    const deposit = depositOf();
    await one.ledger.credit(account, deposit);
    const spent = callOf(account);
    await one.ledger.begin(spent);
    const paid = () => callOf(account, { payment: paymentOf(deposit) });
    expect(await one.ledger.begin(paid())).toEqual({ kind: "insufficient", balance: 0n });
    await one.ledger.finish(failed(spent));
    expect(await one.ledger.begin(paid())).toEqual({ kind: "started" });
    expect(await one.ledger.balance(account)).toBe(0n);
  });

  it("for an account that does not exist is refused, and its batch goes on without it", async () => {
    const account = await makeAccount(one.pool, PRICE);
    const ghost = `acct_${"0".repeat(31)}9`;
    const [bad, good] = await Promise.allSettled([
      one.ledger.begin(callOf(ghost, { payment: paymentOf(depositOf()) })),
      one.ledger.begin(callOf(account)),
    ]);
    expect(bad.status).toBe("rejected");
    expect(good).toMatchObject({ status: "fulfilled", value: { kind: "started" } });
  });
});

/** Until the instance has a statement that waits for a lock. */
async function untilWaiting({ instanceId }: Instance): Promise<void> {
  await expect
    .poll(async () => {
      const waiting = "select from pg_stat_activity where application_name = $1 and wait_event_type = 'Lock'";
      return (await two.pool.query(waiting, [`test ${instanceId}`])).rowCount;
    })
    .toBe(1);
}
