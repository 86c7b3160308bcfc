import { describe, expect, it, vi } from "vitest";
import { uuidOf } from "../../../src/domain/core/ids.ts";
import { SOLANA } from "../../../src/domain/payments/payment-id.ts";
import {
  callOf,
  completed,
  depositOf,
  expectCleanAudit,
  failed,
  fingerprintOf,
  inTransaction,
  newRunId,
  paymentOf,
  PRICE,
  untilWaiting,
  openLedger,
} from "../fixture.ts";

const { one, two, three, instances } = await openLedger();

describe("a call from the balance", () => {
  it("holds its price and captures it on completion", async () => {
    const account = await one.account(25_000n);
    const call = await one.start(account);
    expect(await one.balance(account)).toBe(15_000n);
    const finished = await one.ledger.capture(completed(call));
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
    expect(await one.balance(account)).toBe(15_000n);
  });

  it("keeps the version of the configuration on its run, however it is paid", async () => {
    const account = await one.account(2n * PRICE);
    const limited = await one.key(account, { perDay: PRICE });
    const calls = [
      callOf(account, { configVersion: 7 }),
      callOf(account, { configVersion: 8, ...limited }),
      callOf(account, { price: 0n }),
    ];
    await Promise.all(calls.map((call) => one.ledger.authorize(call)));
    const { rows } = await one.pool.query(
      "select config_version from run where account_id = $1 order by config_version",
      [uuidOf("acct", account)],
    );
    expect(rows.map((row) => row.config_version)).toEqual([0, 7, 8]);
  });

  it("stores the id of its request, as does a call that a payment pays", async () => {
    const account = await one.account(25_000n);
    const calls = [callOf(account), callOf(account, { payment: paymentOf(depositOf()) })];
    for (const call of calls) expect(await one.ledger.authorize(call)).toEqual({ kind: "started" });
    const stored = "select request_id from run where id = any ($1) order by array_position($1, id)";
    const runs = calls.map(({ runId }) => uuidOf("run", runId));
    expect((await one.pool.query(stored, [runs])).rows).toEqual(
      calls.map(({ requestId }) => ({ request_id: requestId })),
    );
  });

  it("returns the balance and stores nothing when funds are insufficient", async () => {
    const account = await one.account(9_999n);
    const call = callOf(account, { idempotencyKey: "k" });
    expect(await one.ledger.authorize(call)).toEqual({ kind: "insufficient", balance: 9_999n });
    expect(
      (await one.pool.query("select from idempotency where run_id = $1", [call.runId.slice(4)])).rowCount,
    ).toBe(0);
    expect(
      await one.authorize(account, {
        idempotencyKey: "k",
        fingerprint: fingerprintOf("other"),
        price: 9_999n,
      }),
    ).toEqual({ kind: "started" });
  });

  it("starts as soon as the balance covers it, also after insufficient funds", async () => {
    const account = await one.account();
    expect(await one.authorize(account)).toEqual({ kind: "insufficient", balance: 0n });
    await two.ledger.credit(account, depositOf());
    expect(await one.authorize(account)).toEqual({ kind: "started" });
  });

  it("releases its hold when it fails", async () => {
    const account = await one.account(PRICE);
    await one.fail(account);
    expect(await one.balance(account)).toBe(PRICE);
  });

  it("ends with any characters in its error message, also next to other calls", async () => {
    const account = await one.account(2n * PRICE);
    const [odd, plain] = [callOf(account), callOf(account)];
    await Promise.all([odd, plain].map((call) => one.ledger.authorize(call)));
    const error = { code: "TOOL_FAILED", message: "a\0b \ud800 c" } as const;
    const ended = await Promise.all([
      one.ledger.release({ runId: odd.runId, outcome: "failed", error }),
      one.ledger.release(failed(plain)),
    ]);
    expect(ended).toEqual([{ kind: "released" }, { kind: "released" }]);
    const { rows } = await one.pool.query("select error_message from run where id = $1", [
      odd.runId.slice(4),
    ]);
    expect(rows).toEqual([{ error_message: "ab \ufffd c" }]);
  });

  it("starts exactly 7 of 200 concurrent calls on a balance for 7", async () => {
    const account = await one.account(7n * PRICE + 9_999n);
    const started = await Promise.all(
      Array.from({ length: 200 }, (_, n) => instances[n % 3]!.ledger.authorize(callOf(account))),
    );
    expect(started.filter(({ kind }) => kind === "started")).toHaveLength(7);
    expect(await one.balance(account)).toBe(9_999n);
  });

  it("within a batch, authorizes a smaller call where a larger one did not fit, in order of arrival", async () => {
    const account = await one.account(10n);
    const prices = [6n, 5n, 3n, 2n, 1n];
    const started = await Promise.all(prices.map((price) => one.authorize(account, { price })));
    expect(started.map(({ kind }) => kind)).toEqual([
      "started",
      "insufficient",
      "started",
      "insufficient",
      "started",
    ]);
  });
});

it.each([undefined, "key"])(
  "calls from the balance take one statement to start and one to capture, with key %s",
  async (idempotencyKey) => {
    const account = await one.account(2n * PRICE);
    const calls = [callOf(account, { idempotencyKey }), callOf(account)];
    const query = vi.spyOn(one.pool, "query");
    try {
      await Promise.all(calls.map((call) => one.ledger.authorize(call)));
      await Promise.all(calls.map((call) => one.ledger.capture(completed(call))));
      const names = query.mock.calls.map(([statement]) => (statement as { name?: string }).name);
      expect(names).toEqual(["ledger-start", "ledger-capture"]);
    } finally {
      query.mockRestore();
    }
  },
);

describe("a call that costs less than it holds", () => {
  it.each([
    ["from the balance", () => ({})],
    ["with an idempotency key", () => ({ idempotencyKey: "metered" })],
    ["by a payment", () => ({ payment: paymentOf(depositOf()) })],
  ])("is charged what it costs, %s, and the rest is returned", async (_how, change) => {
    const account = await one.account(2n * PRICE);
    const [call, other] = [callOf(account, change()), callOf(account)];
    await Promise.all([call, other].map((each) => one.ledger.authorize(each)));
    const before = await one.balance(account);
    const [captured] = await Promise.all([
      one.ledger.capture({ ...completed(call), captured: 4_000n }),
      one.ledger.release(failed(other)),
    ]);
    expect(captured).toMatchObject({ receipt: { quoted: PRICE, debited: 4_000n, status: "final" } });
    expect(await one.balance(account)).toBe(before + 2n * PRICE - 4_000n);
  });

  it("is charged no more than it holds", async () => {
    const account = await one.account(3n * PRICE);
    const [balance, payment] = [callOf(account), callOf(account, { payment: paymentOf(depositOf()) })];
    for (const call of [balance, payment]) {
      await one.ledger.authorize(call);
      await expect(one.ledger.capture({ ...completed(call), captured: PRICE + 1n })).rejects.toMatchObject({
        constraint: "receipt_captured_check",
      });
      expect(await one.ledger.release(failed(call))).toEqual({ kind: "released" });
    }
    expect(await one.balance(account)).toBe(4n * PRICE);
  });
});

describe("an idempotency key", () => {
  it("replays a completed call with its result and receipt, charged once", async () => {
    const account = await one.account(3n * PRICE);
    const call = await one.start(account, { idempotencyKey: "a" });
    const finished = await one.ledger.capture(completed(call, { answer: 7 }));
    const again = await two.authorize(account, { idempotencyKey: "a" });
    expect(again).toEqual({
      kind: "replay",
      result: { answer: 7 },
      receipt: finished.kind === "captured" ? finished.receipt : undefined,
    });
    expect(await one.balance(account)).toBe(2n * PRICE);
  });

  it("preserves every character of a stored result", async () => {
    const account = await one.account(PRICE);
    const call = callOf(account, { idempotencyKey: "odd" });
    const result = {
      text: 'NUL \0, lone surrogate \ud800, {"a":1}, \\x00',
      big: 1e300,
      "": [null, {}],
      __proto__x: 1,
    };
    await one.ledger.authorize(call);
    await one.ledger.capture({ ...completed(call), result });
    expect(await one.authorize(account, { idempotencyKey: "odd" })).toMatchObject({
      kind: "replay",
      result,
    });
  });

  it("rejects another call as a mismatch, and belongs to one account", async () => {
    const account = await one.account(3n * PRICE);
    const other = await one.account(PRICE);
    await one.authorize(account, { idempotencyKey: "c" });
    expect(
      await one.authorize(account, { idempotencyKey: "c", fingerprint: fingerprintOf("other") }),
    ).toEqual({ kind: "mismatch" });
    expect(await one.authorize(other, { idempotencyKey: "c" })).toEqual({ kind: "started" });
  });

  it("runs again after a failure and is charged once", async () => {
    const account = await one.account(PRICE);
    await one.fail(account, { idempotencyKey: "d" });
    await two.buy(account, { idempotencyKey: "d" });
    expect(await one.authorize(account, { idempotencyKey: "d" })).toMatchObject({
      kind: "replay",
    });
    expect(await one.balance(account)).toBe(0n);
  });

  it("may look like the claim of a payment", async () => {
    const account = await one.account(PRICE);
    const deposit = depositOf();
    await one.authorize(account, { payment: paymentOf(deposit) });
    const { call } = await one.buy(account, {
      idempotencyKey: `pay:${SOLANA}:${deposit.reference}`,
      fingerprint: fingerprintOf("other"),
    });
    const { reference: txSignature } = depositOf();
    expect(
      await one.ledger.findPrior({ ...call, network: SOLANA, reference: txSignature, quoteId: "qt_other" }),
    ).toMatchObject({
      kind: "replay",
    });
  });

  it("starts one of 60 concurrent calls on three instances", async () => {
    const account = await one.account(100n * PRICE);
    const started = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        instances[n % 3]!.ledger.authorize(callOf(account, { idempotencyKey: "race" })),
      ),
    );
    expect(started.filter(({ kind }) => kind === "started")).toHaveLength(1);
    expect(started.filter(({ kind }) => kind === "in_progress")).toHaveLength(59);
    expect(await one.balance(account)).toBe(99n * PRICE);
  });

  it("starts one of 60 retries of a failed call on three instances", async () => {
    const account = await one.account(100n * PRICE);
    for (let round = 0; round < 6; round++) {
      await one.fail(account, { idempotencyKey: `retry ${round}` });
      const started = await Promise.all(
        Array.from({ length: 60 }, (_, n) =>
          instances[n % 3]!.ledger.authorize(callOf(account, { idempotencyKey: `retry ${round}` })),
        ),
      );
      expect(started.filter(({ kind }) => kind === "started")).toHaveLength(1);
    }
    expect(await one.balance(account)).toBe(94n * PRICE);
  });

  it("starts a free call on a negative balance", async () => {
    const account = await one.account();
    await one.pool.query("update account set available = -5, seq = 1 where id = $1", [account.slice(5)]);
    try {
      expect(await one.authorize(account)).toEqual({ kind: "insufficient", balance: -5n });
      for (const idempotencyKey of ["free", undefined]) {
        expect(await one.authorize(account, { idempotencyKey, price: 0n })).toEqual({
          kind: "started",
        });
      }
    } finally {
      await one.pool.query("update account set available = 0, seq = 0 where id = $1", [account.slice(5)]);
    }
  });

  it("stores the result of a free call, without hold or receipt", async () => {
    const account = await one.account();
    const call = await one.start(account, { idempotencyKey: "free", price: 0n, tool: "echo" });
    expect(await one.ledger.capture(completed(call))).toEqual({ kind: "captured", receipt: undefined });
    expect(await one.ledger.authorize({ ...call, runId: newRunId() })).toEqual({
      kind: "replay",
      result: { answer: 42 },
      receipt: undefined,
    });
  });
});

describe("runs that end together", () => {
  it("lock their claims in one order, whether completed or failed", async () => {
    const account = await one.account(2n * PRICE);
    const first = await one.start(account, { idempotencyKey: "a" });
    const last = await one.start(account, { idempotencyKey: "b" });
    const lock = "select from idempotency where account_id = $1 and key = $2 for update nowait";
    await inTransaction(three.pool, async (holder) => {
      await holder.query(lock, [account.slice(5), "key:a"]);
      const ended = Promise.all([one.ledger.release(failed(first)), one.ledger.capture(completed(last))]);
      await untilWaiting(two.pool, one);
      // Waiting for the first claim, it does not hold the last one yet.
      await holder.query(lock, [account.slice(5), "key:b"]);
      await holder.query("commit");
      expect((await ended).map(({ kind }) => kind)).toEqual(["released", "captured"]);
    });
  });
});

it("leaves a ledger that passes the audit", () => expectCleanAudit(one.pool));
