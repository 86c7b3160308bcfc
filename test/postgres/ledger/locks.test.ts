import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { CallAuthorization } from "../../../src/app/calls/ledger.ts";
import type { CallPayment } from "../../../src/app/payments/payment-methods.ts";
import { callRecord } from "../../../src/postgres/ledger/records.ts";
import { signatureFrom, uuidFromId } from "../../../src/postgres/database/row-mapping.ts";
import {
  callOf,
  completed,
  depositOf,
  expectCleanAudit,
  failed,
  paymentOf,
  PRICE,
  untilWaiting,
  type Instance,
  openLedger,
  inTransaction,
} from "../fixture.ts";
import { recordAct } from "../../support/operator-acts.ts";
import { uuidOf } from "../../../src/domain/core/ids.ts";
import { kindOf } from "./reference-ledger.ts";

const { one, two, three } = await openLedger();

/** Runs `work` while another transaction holds its locks, which commits once `work` waits for it. */
async function during<Result>(
  statement: string,
  values: unknown[],
  work: () => Promise<Result>,
  waiting: readonly Instance[] = [one],
): Promise<Result> {
  return await inTransaction(two.pool, async (other) => {
    await other.query(statement, values);
    const done = work();
    for (const instance of waiting) await untilWaiting(two.pool, instance);
    await other.query("commit");
    return await done;
  });
}

const beginDuring = (call: CallAuthorization, statement: string, values: unknown[]) =>
  during(statement, values, () => one.ledger.authorize(call));

describe("a token bucket", () => {
  it("grants what concurrent takers left in it", async () => {
    const account = randomUUID();
    const take = `select granted
      from rate_take($1, '{${account}}', $2, '{3600000000}', '{10}', '{3600000000}', '{100}')`;
    const granted = async (key: string, wanted: number) => {
      const { rows } = await one.pool.query<{ granted: number }>(take, [[key], [wanted]]);
      return rows.map((row) => row.granted);
    };
    const key = randomUUID();
    expect(await granted(key, 1)).toEqual([1]);
    expect(await during(take, [[key], [7]], () => granted(key, 9))).toEqual([2]);
  });
});

describe("call authorization", () => {
  it.each(["no limit", "a limit"])("sees the balance that a concurrent call left, with %s", async (what) => {
    const account = await one.account(2n * PRICE);
    const key = await one.key(account, what === "a limit" ? { perDay: 2n * PRICE } : {});
    const take = "select ledger_adjust($1, $2, sha256(convert_to($3, 'UTF8')), 'test')";
    const values = [uuidFromId("acct", account), -PRICE, `${account.slice("acct_".length)}:${what}`];
    await recordAct(one.pool, "account.adjust", account, `${-PRICE} ${what}`);
    const both = () => Promise.all([1, 2].map(() => one.ledger.authorize(callOf(account, key))));
    const started = await during(take, values, both);
    expect(started.map(({ kind }) => kind).toSorted()).toEqual(["insufficient", "started"]);
    expect(await one.balance(account)).toBe(0n);
  });

  it("starts a retried call once when several calls saw it fail", async () => {
    const account = await one.account(2n * PRICE);
    const retry = () => callOf(account, { idempotencyKey: "taken over" });
    const first = retry();
    await one.ledger.authorize(first);
    await one.ledger.release(failed(first));
    // Blocked before the decision: both have seen the call's state by then.
    const both = () => Promise.all([one.ledger.authorize(retry()), three.ledger.authorize(retry())]);
    const row = [uuidFromId("acct", account)];
    const started = await during("select from account where id = $1 for update", row, both, [one, three]);
    expect(started.map(({ kind }) => kind).sort()).toEqual(["in_progress", "started"]);
    expect(await one.balance(account)).toBe(PRICE);
  });

  const claim = `insert into idempotency (account_id, key, fingerprint, state, run_id, expires_at)
      values ($1, $2, $3, 'running', $4, now() + '1 hour')`;
  const claimOf = ({ accountId, fingerprint, runId }: CallAuthorization, key: string) => [
    ...[uuidFromId("acct", accountId), `key:${key}`, fingerprint, uuidFromId("run", runId)],
  ];

  it("reports a repeat when its claim is created while it waits", async () => {
    const account = await one.account(2n * PRICE);
    const call = callOf(account, { idempotencyKey: "claimed meanwhile" });
    const started = await beginDuring(call, claim, claimOf(callOf(account), "claimed meanwhile"));
    expect(started).toEqual({ kind: "in_progress" });
    expect(await one.balance(account)).toBe(2n * PRICE);
    await one.pool.query("delete from idempotency where account_id = $1", [uuidFromId("acct", account)]);
  });

  const send = `select from ledger_authorize(array(select call
    from json_populate_recordset(null::ledger_call, $1) call), $2, '1 minute')`;
  const records = (...calls: CallAuthorization[]) => JSON.stringify(calls.map(callRecord));
  /** Sends the calls, and again from the same instance before the first commits, as after a lost response. */
  const sendTwice = (...calls: CallAuthorization[]) =>
    during(send, [records(...calls), one.instanceId], () =>
      Promise.all(calls.map((call) => one.ledger.authorize(call))),
    );

  it.each([
    ["a balance", "sent twice"],
    ["a limit", "sent twice"],
    ["a balance", undefined],
    ["a limit", undefined],
    ["plenty", undefined],
  ])("is idempotent by run when sent twice, with %s for one call, under the key %s", async (what, key) => {
    const account = await one.account(what === "a balance" ? PRICE : 2n * PRICE);
    const limited = await one.key(account, what === "a limit" ? { perDay: PRICE } : {});
    const call = callOf(account, { idempotencyKey: key, ...limited });
    expect(await sendTwice(call)).toEqual([{ kind: "started" }]);
    if (key !== undefined)
      expect(await one.authorize(account, { idempotencyKey: key })).toEqual({ kind: "in_progress" });
    expect(await one.ledger.capture(completed(call))).toMatchObject({ kind: "captured" });
    expect(await one.balance(account)).toBe(what === "a balance" ? 0n : PRICE);
  });

  it("is idempotent by run when sent twice in a batch with a call without a key", async () => {
    const account = await one.account(2n * PRICE);
    const calls = [callOf(account, { idempotencyKey: "sent twice" }), callOf(account)];
    expect(await sendTwice(...calls)).toEqual([{ kind: "started" }, { kind: "started" }]);
    expect(await one.balance(account)).toBe(0n);
  });

  it("reports a repeat, not insufficient funds, when another instance starts the call meanwhile", async () => {
    const account = await one.account(PRICE);
    const [first, second] = [0, 1].map(() => callOf(account, { idempotencyKey: "at once" }));
    await inTransaction(two.pool, async (other) => {
      await other.query(send, [records(first!), two.instanceId]);
      // Blocks reads of balances until the commit.
      await other.query("lock table account in access exclusive mode");
      const started = one.ledger.authorize(second!);
      await untilWaiting(two.pool, one);
      await other.query("commit");
      expect(await started).toEqual({ kind: "in_progress" });
    });
  });

  it("reports a repeat while another transaction has the claim locked", async () => {
    const account = await one.account(PRICE);
    await one.buy(account, { idempotencyKey: "answered" });
    const lock = "select from idempotency where account_id = $1 for update";
    const again = () => one.authorize(account, { idempotencyKey: "answered" });
    expect(await during(lock, [uuidFromId("acct", account)], again, [])).toMatchObject({ kind: "replay" });
  });

  const reverse = "select * from treasury_reverse('solana-mainnet', $1)";

  it("rejects a credited payment that is reversed meanwhile", async () => {
    const account = await one.account(5n * PRICE);
    const deposit = depositOf();
    await one.ledger.credit(account, deposit);
    expect(await beginWith(account, paymentOf(deposit))).toEqual({ kind: "reversed" });
    expect(await one.balance(account)).toBe(5n * PRICE);
  });

  it("holds a new payment against a debt that appears meanwhile", async () => {
    const account = await one.account(PRICE);
    const spent = paymentOf(depositOf());
    await one.ledger.credit(account, spent.transfer!);
    await one.buy(account, { price: 2n * PRICE });
    const paid = callOf(account, { payment: paymentOf(depositOf()) });
    const started = await beginDuring(paid, reverse, [signatureFrom(spent.reference)]);
    expect(started).toEqual({ kind: "insufficient", balance: 0n });
    expect(await one.balance(account)).toBe(0n);
  });

  it("rejects a retry with a payment that is reversed meanwhile", async () => {
    const account = await one.account(5n * PRICE);
    const payment = paymentOf(depositOf());
    await one.fail(account, { payment });
    expect(await beginWith(account, { ...payment, transfer: undefined })).toEqual({ kind: "reversed" });
    expect(await one.balance(account)).toBe(5n * PRICE);
  });

  const beginWith = (account: string, payment: CallPayment) =>
    beginDuring(callOf(account, { payment }), reverse, [signatureFrom(payment.reference)]);
});

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
    account = await one.account(100n * PRICE);
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
    expect(await one.balance(account)).toBe(100n * PRICE);
  });

  it("passes its result to a second payment too", async () => {
    await leave();
    const moved = callWith("next", payment);
    await one.ledger.authorize(moved);
    await one.ledger.capture(completed(moved));
    const second = callOf(account, { idempotencyKey: "left", payment: paymentOf(depositOf()) });
    expect(kindOf(await two.ledger.authorize(second))).toEqual({ kind: "replay", run: moved.runId });
    expect(await one.balance(account)).toBe(100n * PRICE);
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
    expect(await one.balance(account)).toBe(100n * PRICE);
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
    const account = await one.account(100n * PRICE);
    const keys = ["a", "b"].map((idempotencyKey) => ({ idempotencyKey }));
    for (const key of keys) await fail(callOf(account, key));
    await one.pool.query(
      "update idempotency set expires_at = now() - interval '1 hour' where account_id = $1",
      [uuidOf("acct", account)],
    );
    await inTransaction(two.pool, async (holder) => {
      await holder.query("select from idempotency where key = 'key:a' and account_id = $1 for update", [
        uuidOf("acct", account),
      ]);
      const started = keys.map((key) => one.authorize(account, key));
      await untilWaiting(two.pool, one);
      expect(await two.sweeper.retention.deleteExpired(["claims"])).toBe(1);
      await holder.query("rollback");
      expect(await Promise.all(started)).toEqual([{ kind: "started" }, { kind: "started" }]);
      expect(await two.authorize(account, keys[1])).toEqual({ kind: "in_progress" });
    });
  });
});

it("leaves a ledger that passes the audit", () => expectCleanAudit(one.pool));
