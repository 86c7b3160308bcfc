import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CallAuthorization } from "../../../src/app/calls/ledger.ts";
import type { CallPayment } from "../../../src/app/payments/verified-transfer.ts";
import { callRecord } from "../../../src/postgres/ledger/records.ts";
import { signatureFrom, uuidFromId } from "../../../src/postgres/database/row-mapping.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import {
  callOf,
  completed,
  depositOf,
  expectCleanAudit,
  failed,
  makeAccount,
  makeKey,
  openInstance,
  paymentOf,
  PRICE,
  untilWaiting,
  type Instance,
} from "../fixture.ts";

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

/** Runs `work` while another transaction holds its locks, which commits once `work` waits for it. */
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
  it("grants what concurrent takers left in it", async () => {
    const account = randomUUID();
    const take = `select granted
      from rate_take($1, '{${account}}', $2, '{1000000}', '{10}', '{1000000}', '{100}')`;
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
    const account = await makeAccount(one.pool, PRICE);
    const key = await makeKey(one.pool, account, what === "a limit" ? { perDay: PRICE } : {});
    const take = "select ledger_adjust($1, $2, sha256(convert_to($3, 'UTF8')), 'test')";
    const values = [uuidFromId("acct", account), -PRICE, `taken with ${what}`];
    const started = await beginDuring(callOf(account, key), take, values);
    expect(started).toEqual({ kind: "insufficient", balance: 0n });
    expect(await one.ledger.balance(account)).toBe(0n);
    await expectCleanAudit(one.pool);
  });

  it("starts a retried call once when several calls saw it fail", async () => {
    const account = await makeAccount(one.pool, 2n * PRICE);
    const retry = () => callOf(account, { idempotencyKey: "taken over" });
    const first = retry();
    await one.ledger.authorize(first);
    await one.ledger.release(failed(first));
    // Blocked before the decision: both have seen the call's state by then.
    const both = () => Promise.all([one.ledger.authorize(retry()), three.ledger.authorize(retry())]);
    const row = [uuidFromId("acct", account)];
    const started = await during("select from account where id = $1 for update", row, both, [one, three]);
    expect(started.map(({ kind }) => kind).sort()).toEqual(["in_progress", "started"]);
    expect(await one.ledger.balance(account)).toBe(PRICE);
  });

  const claim = `insert into idempotency (account_id, key, fingerprint, state, run_id, expires_at)
      values ($1, $2, $3, 'running', $4, now() + '1 hour')`;
  const claimOf = ({ accountId, fingerprint, runId }: CallAuthorization, key: string) => [
    ...[uuidFromId("acct", accountId), `key:${key}`, fingerprint, uuidFromId("run", runId)],
  ];

  it("reports a repeat when its claim is created while it waits", async () => {
    const account = await makeAccount(one.pool, 2n * PRICE);
    const call = callOf(account, { idempotencyKey: "claimed meanwhile" });
    const started = await beginDuring(call, claim, claimOf(callOf(account), "claimed meanwhile"));
    expect(started).toEqual({ kind: "in_progress" });
    expect(await one.ledger.balance(account)).toBe(2n * PRICE);
    await one.pool.query("delete from idempotency where account_id = $1", [uuidFromId("acct", account)]);
  });

  it("is idempotent by run when sent twice", async () => {
    const account = await makeAccount(one.pool, 2n * PRICE);
    const call = callOf(account);
    expect(await one.ledger.authorize(call)).toEqual({ kind: "started" });
    await expect(one.ledger.authorize(call)).resolves.toEqual({ kind: "started" });
    expect(await one.ledger.balance(account)).toBe(PRICE);
    expect(await one.ledger.release(failed(call))).toEqual({ kind: "released" });
  });

  const send = `select from ledger_authorize(array(select call
    from json_populate_recordset(null::ledger_call, $1) call), $2, '1 minute')`;
  const records = (...calls: CallAuthorization[]) => JSON.stringify(calls.map(callRecord));
  /** Sends the calls, and again from the same instance before the first commits, as after a lost response. */
  const sendTwice = (...calls: CallAuthorization[]) =>
    during(send, [records(...calls), one.instanceId], () =>
      Promise.all(calls.map((call) => one.ledger.authorize(call))),
    );

  it.each(["a balance", "a limit"])(
    "is idempotent by run when sent twice, with %s for one call",
    async (what) => {
      const account = await makeAccount(one.pool, what === "a balance" ? PRICE : 2n * PRICE);
      const key = await makeKey(one.pool, account, what === "a balance" ? {} : { perDay: PRICE });
      const call = callOf(account, { idempotencyKey: "sent twice", ...key });
      expect(await sendTwice(call)).toEqual([{ kind: "started" }]);
      expect(await one.ledger.authorize(callOf(account, { idempotencyKey: "sent twice" }))).toEqual({
        kind: "in_progress",
      });
      expect(await one.ledger.capture(completed(call))).toMatchObject({ kind: "captured" });
      await expectCleanAudit(one.pool);
    },
  );

  it.each(["a balance", "a limit", "plenty"])(
    "is idempotent by run without a key when sent twice, with %s for one call",
    async (what) => {
      const account = await makeAccount(one.pool, what === "a balance" ? PRICE : 2n * PRICE);
      const key = await makeKey(one.pool, account, what === "a limit" ? { perDay: PRICE } : {});
      const call = callOf(account, key);
      expect(await sendTwice(call)).toEqual([{ kind: "started" }]);
      expect(await one.ledger.capture(completed(call))).toMatchObject({ kind: "captured" });
      expect(await one.ledger.balance(account)).toBe(what === "a balance" ? 0n : PRICE);
      await expectCleanAudit(one.pool);
    },
  );

  it("is idempotent by run when sent twice in a batch with a call without a key", async () => {
    const account = await makeAccount(one.pool, 2n * PRICE);
    const calls = [callOf(account, { idempotencyKey: "sent twice" }), callOf(account)];
    expect(await sendTwice(...calls)).toEqual([{ kind: "started" }, { kind: "started" }]);
    expect(await one.ledger.balance(account)).toBe(0n);
  });

  it("reports a repeat, not insufficient funds, when another instance starts the call meanwhile", async () => {
    const account = await makeAccount(one.pool, PRICE);
    const [first, second] = [0, 1].map(() => callOf(account, { idempotencyKey: "at once" }));
    const other = await two.pool.connect();
    try {
      await other.query("begin");
      await other.query(send, [records(first!), two.instanceId]);
      // Blocks reads of balances until the commit.
      await other.query("lock table account in access exclusive mode");
      const started = one.ledger.authorize(second!);
      await untilWaiting(two.pool, one);
      await other.query("commit");
      expect(await started).toEqual({ kind: "in_progress" });
    } finally {
      await other.query("rollback");
      other.release();
    }
  });

  it("reports a repeat while another transaction has the claim locked", async () => {
    const account = await makeAccount(one.pool, PRICE);
    const call = callOf(account, { idempotencyKey: "answered" });
    await one.ledger.authorize(call);
    await one.ledger.capture(completed(call));
    const lock = "select from idempotency where account_id = $1 for update";
    const again = () => one.ledger.authorize(callOf(account, { idempotencyKey: "answered" }));
    expect(await during(lock, [uuidFromId("acct", account)], again, [])).toMatchObject({ kind: "replay" });
  });

  const reverse = "select * from treasury_reverse('solana-mainnet', $1)";

  it("rejects a credited payment that is reversed meanwhile", async () => {
    const account = await makeAccount(one.pool, 5n * PRICE);
    const deposit = depositOf();
    await one.ledger.credit(account, deposit);
    expect(await beginWith(account, paymentOf(deposit))).toEqual({ kind: "reversed" });
    expect(await one.ledger.balance(account)).toBe(5n * PRICE);
  });

  it("holds a new payment against a debt that appears meanwhile", async () => {
    const account = await makeAccount(one.pool, PRICE);
    const spent = paymentOf(depositOf());
    await one.ledger.credit(account, spent.transfer!);
    const call = callOf(account, { price: 2n * PRICE });
    await one.ledger.authorize(call);
    await one.ledger.capture(completed(call));
    const paid = callOf(account, { payment: paymentOf(depositOf()) });
    const started = await beginDuring(paid, reverse, [signatureFrom(spent.reference)]);
    expect(started).toEqual({ kind: "insufficient", balance: 0n });
    expect(await one.ledger.balance(account)).toBe(0n);
    await expectCleanAudit(one.pool);
  });

  it("rejects a retry with a payment that is reversed meanwhile", async () => {
    const account = await makeAccount(one.pool, 5n * PRICE);
    const payment = paymentOf(depositOf());
    const tried = callOf(account, { payment });
    await one.ledger.authorize(tried);
    await one.ledger.release(failed(tried));
    expect(await beginWith(account, { ...payment, transfer: undefined })).toEqual({ kind: "reversed" });
    expect(await one.ledger.balance(account)).toBe(5n * PRICE);
  });

  const beginWith = (account: string, payment: CallPayment) =>
    beginDuring(callOf(account, { payment }), reverse, [signatureFrom(payment.reference)]);
});
