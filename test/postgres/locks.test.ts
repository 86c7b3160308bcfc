import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CallAuthorization, CallPayment } from "../../src/app/calls/ledger.ts";
import { newId } from "../../src/domain/core/ids.ts";
import { callRecord } from "../../src/postgres/ledger-records.ts";
import { signatureFrom, uuidFromId } from "../../src/postgres/row-mapping.ts";
import { systemClock, systemRandom } from "../../src/system.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
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
  await Promise.all([one.close(), two.close(), three.close()]);
  await database.drop();
});

/** Does something while another transaction has done its own and not committed yet, which it does once these wait for it. */
async function during<Result>(
  statement: string,
  values: unknown[],
  work: () => Promise<Result>,
  waiting: readonly Instance[] = [one],
): Promise<Result> {
  const other = await two.pool.connect();
  try {
    await other.query("begin");
    await other.query(statement, values);
    const done = work();
    for (const instance of waiting) await untilWaiting(two.pool, instance);
    await other.query("commit");
    return await done;
  } finally {
    await other.query("rollback");
    other.release();
  }
}

const beginDuring = (call: CallAuthorization, statement: string, values: unknown[]) =>
  during(statement, values, () => one.ledger.authorize(call));

describe("a token bucket", () => {
  it("gives what others left in it for whom it had to wait", async () => {
    const account = randomUUID();
    const take = `select granted from rate_take($1, '{${account}}', $2, '{1000000}', '{10}', '{1000000}', '{100}')`;
    const granted = async (key: string, wanted: number) => {
      const { rows } = await one.pool.query<{ granted: number }>(take, [[key], [wanted]]);
      return rows.map((row) => row.granted);
    };
    const key = randomUUID();
    expect(await granted(key, 1)).toEqual([1]);
    expect(await during(take, [[key], [7]], () => granted(key, 9))).toEqual([2]);
  });
});

describe("a call that begins", () => {
  it("judges the balance as others left it whom it had to wait for", async () => {
    const account = await makeAccount(one.pool, PRICE);
    const take = "select ledger_adjust($1, $2, 'taken by another', 'test')";
    const begun = await beginDuring(callOf(account), take, [uuidFromId("acct", account), -PRICE]);
    expect(begun).toEqual({ kind: "insufficient", balance: 0n });
    expect(await one.ledger.balance(account)).toBe(0n);
    await expectCleanAudit(one.pool);
  });

  it("starts a failed call once, whoever else has found it failed at the same time", async () => {
    const account = await makeAccount(one.pool, 2n * PRICE);
    const retry = () => callOf(account, { idempotencyKey: "taken over" });
    const first = retry();
    await one.ledger.authorize(first);
    await one.ledger.finish(failed(first));
    // Held up before anything is decided: both have seen by then how the call stands.
    const both = () => Promise.all([one.ledger.authorize(retry()), three.ledger.authorize(retry())]);
    const row = [uuidFromId("acct", account)];
    const begun = await during("select from account where id = $1 for update", row, both, [one, three]);
    expect(begun.map(({ kind }) => kind).sort()).toEqual(["in_progress", "started"]);
    expect(await one.ledger.balance(account)).toBe(PRICE);
  });

  const claim =
    "insert into idempotency (account_id, key, fingerprint, state, run_id, expires_at) values ($1, $2, $3, 'running', $4, now() + '1 hour')";
  const claimOf = ({ accountId, fingerprint, runId }: CallAuthorization, key: string) => [
    ...[uuidFromId("acct", accountId), `key:${key}`, fingerprint, uuidFromId("run", runId)],
  ];

  it("is a repeat of the call that made its claim while it waited for that", async () => {
    const account = await makeAccount(one.pool, 2n * PRICE);
    const call = callOf(account, { idempotencyKey: "claimed meanwhile" });
    const begun = await beginDuring(call, claim, claimOf(callOf(account), "claimed meanwhile"));
    expect(begun).toEqual({ kind: "in_progress" });
    expect(await one.ledger.balance(account)).toBe(2n * PRICE);
    await one.pool.query("delete from idempotency where account_id = $1", [uuidFromId("acct", account)]);
  });

  it("is known by its run, when it is sent a second time", async () => {
    const account = await makeAccount(one.pool, 2n * PRICE);
    const call = callOf(account);
    expect(await one.ledger.authorize(call)).toEqual({ kind: "started" });
    await expect(one.ledger.authorize(call)).resolves.toEqual({ kind: "started" });
    expect(await one.ledger.balance(account)).toBe(PRICE);
    expect(await one.ledger.finish(failed(call))).toEqual({ kind: "released" });
  });

  const send = `select from ledger_begin(array(select call from json_populate_recordset(null::ledger_call, $1) call), $2, '1 minute')`;
  const records = (...calls: CallAuthorization[]) => JSON.stringify(calls.map(callRecord));
  /** The calls are sent, and sent again by the same instance before that is committed, as when an answer is lost. */
  const sendTwice = (...calls: CallAuthorization[]) =>
    during(send, [records(...calls), one.instanceId], () =>
      Promise.all(calls.map((call) => one.ledger.authorize(call))),
    );

  it.each(["a balance", "a limit"])(
    "is known by its run, when it was sent before with %s for one",
    async (what) => {
      const account = await makeAccount(one.pool, what === "a balance" ? PRICE : 2n * PRICE);
      const budget =
        what === "a balance" ? undefined : { id: newId("key", systemClock, systemRandom), perDay: PRICE };
      const call = callOf(account, { idempotencyKey: "sent twice", budget });
      expect(await sendTwice(call)).toEqual([{ kind: "started" }]);
      expect(await one.ledger.authorize(callOf(account, { idempotencyKey: "sent twice" }))).toEqual({
        kind: "in_progress",
      });
      expect(await one.ledger.finish(completed(call))).toMatchObject({ kind: "captured" });
      await expectCleanAudit(one.pool);
    },
  );

  it.each(["a balance", "a limit", "plenty"])(
    "is known by its run, when it was sent before without a key, with %s for one",
    async (what) => {
      const account = await makeAccount(one.pool, what === "a balance" ? PRICE : 2n * PRICE);
      const budget =
        what === "a limit" ? { id: newId("key", systemClock, systemRandom), perDay: PRICE } : undefined;
      const call = callOf(account, { budget });
      expect(await sendTwice(call)).toEqual([{ kind: "started" }]);
      expect(await one.ledger.finish(completed(call))).toMatchObject({ kind: "captured" });
      expect(await one.ledger.balance(account)).toBe(what === "a balance" ? 0n : PRICE);
      await expectCleanAudit(one.pool);
    },
  );

  it("is known by its run, when it was sent before in a batch with a call without a key", async () => {
    const account = await makeAccount(one.pool, 2n * PRICE);
    const calls = [callOf(account, { idempotencyKey: "sent twice" }), callOf(account)];
    expect(await sendTwice(...calls)).toEqual([{ kind: "started" }, { kind: "started" }]);
    expect(await one.ledger.balance(account)).toBe(0n);
  });

  it("is a repeat of the call that another instance has begun since it was looked at, and not short of what that holds", async () => {
    const account = await makeAccount(one.pool, PRICE);
    const [first, second] = [0, 1].map(() => callOf(account, { idempotencyKey: "at once" }));
    const other = await two.pool.connect();
    try {
      await other.query("begin");
      await other.query(send, [records(first!), two.instanceId]);
      // Holds up whoever reads a balance until it is committed.
      await other.query("lock table account in access exclusive mode");
      const begun = one.ledger.authorize(second!);
      await untilWaiting(two.pool, one);
      await other.query("commit");
      expect(await begun).toEqual({ kind: "in_progress" });
    } finally {
      await other.query("rollback");
      other.release();
    }
  });

  it("is told as a repeat while somebody else has its claim locked", async () => {
    const account = await makeAccount(one.pool, PRICE);
    const call = callOf(account, { idempotencyKey: "answered" });
    await one.ledger.authorize(call);
    await one.ledger.finish(completed(call));
    const lock = "select from idempotency where account_id = $1 for update";
    const again = () => one.ledger.authorize(callOf(account, { idempotencyKey: "answered" }));
    expect(await during(lock, [uuidFromId("acct", account)], again, [])).toMatchObject({ kind: "replay" });
  });

  const reverse = "select * from treasury_reverse($1)";

  it("buys nothing with a payment that was credited before and is taken back meanwhile", async () => {
    const account = await makeAccount(one.pool, 5n * PRICE);
    const deposit = depositOf();
    await one.ledger.credit(account, deposit);
    expect(await beginWith(account, paymentOf(deposit))).toEqual({ kind: "reversed" });
    expect(await one.ledger.balance(account)).toBe(5n * PRICE);
  });

  it("buys nothing again with a payment that is taken back meanwhile", async () => {
    const account = await makeAccount(one.pool, 5n * PRICE);
    const payment = paymentOf(depositOf());
    const tried = callOf(account, { payment });
    await one.ledger.authorize(tried);
    await one.ledger.finish(failed(tried));
    expect(await beginWith(account, { ...payment, transfer: undefined })).toEqual({ kind: "reversed" });
    expect(await one.ledger.balance(account)).toBe(5n * PRICE);
  });

  const beginWith = (account: string, payment: CallPayment) =>
    beginDuring(callOf(account, { payment }), reverse, [signatureFrom(payment.txSignature)]);
});
