import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { CallAuthorization } from "../../../src/app/calls/ledger.ts";
import { uuidOf } from "../../../src/domain/core/ids.ts";
import { DatabaseUnavailableError } from "../../../src/postgres/database/database-errors.ts";
import { PostgresLedger } from "../../../src/postgres/ledger/ledger.ts";
import { openPool } from "../../../src/postgres/database/pool.ts";
import { PostgresReceipts } from "../../../src/postgres/ledger/receipts.ts";
import { PostgresRuns } from "../../../src/postgres/ledger/runs.ts";
import { PostgresTreasuryLedger } from "../../../src/postgres/treasury/treasury-ledger.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { openCuttingProxy, type CuttingProxy } from "../database/cutting-proxy.ts";
import {
  callOf,
  completed,
  depositOf,
  expectCleanAudit,
  expireLeases,
  failed,
  makeAccount,
  openInstance,
  paymentOf,
  PRICE,
  type Instance,
  endRun,
} from "../fixture.ts";

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
afterEach(() => expectCleanAudit(two.pool));

describe("an instance that dies during a call", () => {
  it("leaves a run that another instance releases, and the retry is charged once", async () => {
    const account = await makeAccount(one.pool, PRICE);
    const call = callOf(account, { idempotencyKey: "crash" });
    await one.ledger.authorize(call);
    expect(await two.sweeper.sweep()).toBe(0);
    await expireLeases(one.pool, call);
    expect(await two.sweeper.sweep()).toBe(1);
    expect(await two.ledger.balance(account)).toBe(PRICE);
    const retry = callOf(account, { idempotencyKey: "crash" });
    expect(await two.ledger.authorize(retry)).toEqual({ kind: "started" });
    expect(await two.ledger.capture(completed(retry))).toMatchObject({ kind: "captured" });
    expect(await two.ledger.balance(account)).toBe(0n);
  });

  it("leaves a payment that the retry uses, without a second payment", async () => {
    const account = await makeAccount(one.pool, 0n);
    const deposit = depositOf();
    const call = callOf(account, { payment: paymentOf(deposit) });
    await one.ledger.authorize(call);
    await expireLeases(one.pool, call);
    await two.sweeper.sweep();
    const retry = callOf(account, { payment: { ...paymentOf(deposit), transfer: undefined } });
    expect(await two.ledger.authorize(retry)).toEqual({ kind: "started" });
    expect(await two.ledger.capture(completed(retry))).toMatchObject({
      kind: "captured",
      receipt: { txSignature: deposit.reference },
    });
    expect(await two.ledger.balance(account)).toBe(0n);
  });

  it("has each run released once by concurrent sweeps", async () => {
    const account = await makeAccount(one.pool, 250n * PRICE);
    const calls = Array.from({ length: 250 }, () => callOf(account));
    await Promise.all(calls.map((call) => one.ledger.authorize(call)));
    await expireLeases(one.pool, ...calls);
    const swept = await Promise.all([one.sweeper.sweep(), two.sweeper.sweep(), one.sweeper.sweep()]);
    expect(swept.reduce((sum, count) => sum + count)).toBe(250);
    expect(await one.ledger.balance(account)).toBe(250n * PRICE);
  });
});

describe("an instance that stalls past its lease", () => {
  it("cannot charge the released run, and the retry is charged once", async () => {
    const account = await makeAccount(one.pool, 2n * PRICE);
    const call = callOf(account, { idempotencyKey: "stall" });
    await one.ledger.authorize(call);
    await expireLeases(one.pool, call);
    await two.sweeper.sweep();
    expect(await one.ledger.capture(completed(call))).toEqual({ kind: "lost" });
    const retry = callOf(account, { idempotencyKey: "stall" });
    await two.ledger.authorize(retry);
    expect(await one.ledger.capture(completed(call))).toEqual({ kind: "lost" });
    expect(await one.ledger.release(failed(call))).toEqual({ kind: "lost" });
    expect(await two.ledger.capture(completed(retry))).toMatchObject({ kind: "captured" });
    expect(await one.ledger.capture(completed(call))).toEqual({ kind: "lost" });
    expect(await one.ledger.balance(account)).toBe(PRICE);
  });

  it("cannot end the run of another instance", async () => {
    const account = await makeAccount(one.pool, PRICE);
    const call = callOf(account);
    await one.ledger.authorize(call);
    expect(await two.ledger.capture(completed(call))).toEqual({ kind: "lost" });
    expect(await one.ledger.capture(completed(call))).toMatchObject({ kind: "captured" });
  });

  it("keeps a run by heartbeat when it stalls for less than its lease", async () => {
    const account = await makeAccount(one.pool, 2n * PRICE);
    const [kept, ended] = [callOf(account), callOf(account)];
    await one.ledger.authorize(kept);
    await one.ledger.authorize(ended);
    await one.ledger.release(failed(ended));
    await expireLeases(one.pool, kept);
    await one.leases.renew();
    expect(await two.sweeper.sweep()).toBe(0);
    expect(await one.ledger.capture(completed(kept))).toMatchObject({ kind: "captured" });
  });

  it("either ends or loses a run when it races the sweep", async () => {
    const account = await makeAccount(one.pool, 100n * PRICE);
    const calls = Array.from({ length: 60 }, () => callOf(account));
    await Promise.all(calls.map((call) => one.ledger.authorize(call)));
    await expireLeases(one.pool, ...calls);
    const [finished] = await Promise.all([
      Promise.all(calls.map((call) => one.ledger.capture(completed(call)))),
      two.sweeper.sweep(),
      one.sweeper.sweep(),
    ]);
    const captured = finished.filter(({ kind }) => kind === "captured").length;
    expect(await one.ledger.balance(account)).toBe(BigInt(100 - captured) * PRICE);
  });
});

describe("a response lost after the commit", () => {
  let proxy: CuttingProxy;
  let behind: Instance;
  beforeAll(async () => {
    proxy = await openCuttingProxy(database.url);
    behind = openInstance(proxy.url);
  });
  afterAll(async () => {
    await behind.close();
    await proxy.close();
  });

  async function withCut<Result>(run: () => Promise<Result>): Promise<Result> {
    await behind.pool.query("select");
    const { cuts } = proxy;
    proxy.cutNextAnswer();
    const result = await run();
    expect(proxy.cuts).toBe(cuts + 1);
    return result;
  }

  it("is recovered by a retry that authorizes the call once", async () => {
    const account = await makeAccount(one.pool, 9n * PRICE);
    for (const call of [
      callOf(account),
      callOf(account, { idempotencyKey: "lost" }),
      callOf(account, { payment: paymentOf(depositOf()) }),
    ]) {
      const before = await one.ledger.balance(account);
      expect(await withCut(() => behind.ledger.authorize(call))).toEqual({ kind: "started" });
      expect(await one.ledger.balance(account)).toBe(call.payment ? before : before - PRICE);
      expect(await behind.ledger.capture(completed(call))).toMatchObject({ kind: "captured" });
    }
  });

  it("is recovered by a retry that ends the run once, with the same result", async () => {
    const account = await makeAccount(one.pool, 2n * PRICE);
    const [good, bad] = [callOf(account, { idempotencyKey: "good" }), callOf(account)];
    await behind.ledger.authorize(good);
    await behind.ledger.authorize(bad);
    const finished = await withCut(() => behind.ledger.capture(completed(good)));
    expect(finished).toMatchObject({ kind: "captured", receipt: { debited: PRICE } });
    expect(await withCut(() => behind.ledger.release(failed(bad)))).toEqual({ kind: "released" });
    expect(await one.ledger.balance(account)).toBe(PRICE);
    expect(await one.ledger.authorize(callOf(account, { idempotencyKey: "good" }))).toMatchObject(
      finished.kind === "captured" ? { kind: "replay", receipt: finished.receipt } : {},
    );
  });

  it("is recovered by a retry that reads receipts and runs", async () => {
    const page = {
      accountId: await makeAccount(one.pool, 0n),
      limit: 5,
      cursor: undefined,
      status: undefined,
    };
    const [receipts, runs] = [new PostgresReceipts(behind.pool), new PostgresRuns(behind.pool)];
    expect(await withCut(() => receipts.list(page))).toMatchObject({ items: [] });
    expect(await withCut(() => receipts.find(page.accountId, `rcpt_${"0".repeat(32)}`))).toBeUndefined();
    expect(await withCut(() => runs.list(page))).toMatchObject({ items: [] });
    expect(await withCut(() => runs.find(page.accountId, `run_${"0".repeat(32)}`))).toBeUndefined();
  });

  it("is recovered by a retry that credits the deposit once", async () => {
    const account = await makeAccount(one.pool, 0n);
    expect(await withCut(() => behind.ledger.credit(account, depositOf({ amount: 5n })))).toMatchObject({
      balance: 5n,
    });
  });

  it("is recovered by a retry that reverses the payment once and reports it", async () => {
    const account = await makeAccount(one.pool, 5n);
    const deposit = depositOf();
    await one.ledger.credit(account, deposit);
    const books = new PostgresTreasuryLedger(behind);
    const reversed = { accountId: account, amount: PRICE, balance: 5n };
    expect(await withCut(() => books.reverse(deposit))).toEqual(reversed);
    expect(await books.reverse(deposit)).toBeUndefined();
    expect(await one.ledger.balance(account)).toBe(5n);
  });
});

describe("a locked account", () => {
  it("delays neither the starts nor the ends of other accounts' calls", async () => {
    const [held, free] = [await makeAccount(one.pool, 9n * PRICE), await makeAccount(one.pool, 9n * PRICE)];
    const [blocked, ended] = [callOf(held), callOf(free)];
    await one.ledger.authorize(blocked);
    await one.ledger.authorize(ended);
    const holder = await two.pool.connect();
    try {
      await holder.query("begin");
      await holder.query("select from account where id = $1 for update", [uuidOf("acct", held)]);
      const [beginHeld, beginFree, endHeld, endFree] = await Promise.allSettled([
        one.ledger.authorize(callOf(held)),
        one.ledger.authorize(callOf(free)),
        one.ledger.release(failed(blocked)),
        one.ledger.capture(completed(ended)),
      ]);
      const busy = { status: "rejected", reason: { code: "UNAVAILABLE", retryAfterSeconds: 1 } };
      expect([beginHeld, endHeld]).toMatchObject([busy, busy]);
      expect([beginFree, endFree]).toMatchObject([
        { status: "fulfilled", value: { kind: "started" } },
        { status: "fulfilled", value: { kind: "captured" } },
      ]);
    } finally {
      await holder.query("rollback");
      holder.release();
    }
  });
});

describe("an unreachable database", () => {
  it("is reported to all waiting calls at once", async () => {
    const pool = openPool("postgres://nobody@127.0.0.1:1/none", { max: 4, applicationName: "test away" });
    const { instanceId, leases } = one;
    const ledger = new PostgresLedger({ pool, instanceId, leaseMs: 15_000, leases });
    const account = await makeAccount(one.pool, 0n);
    const times = await Promise.all(
      Array.from({ length: 601 }, async () => {
        await expect(ledger.authorize(callOf(account))).rejects.toBeInstanceOf(DatabaseUnavailableError);
        return performance.now();
      }),
    );
    await pool.end();
    // A fourth batch with its own wait would fail seconds after the first.
    expect(Math.max(...times) - Math.min(...times)).toBeLessThan(2_000);
  });
});

describe("killed connections", () => {
  it("neither lose nor duplicate money", async () => {
    const account = await makeAccount(one.pool, 1_000n * PRICE);
    const over = new AbortController();
    const killer = (async () => {
      while (!over.signal.aborted) {
        await two.pool.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1",
          [`test ${one.instanceId}`],
        );
        // Enough time for a new connection to work, even on a busy machine.
        await sleep(100 + Math.random() * 200);
      }
    })();
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, async (_, worker) => {
        let charged = 0;
        for (let round = 0; round < 12; round++) {
          const call = callOf(account, {
            idempotencyKey: worker % 2 === 0 ? `kill ${worker} ${round}` : undefined,
            payment: worker % 4 === 1 ? paymentOf(depositOf()) : undefined,
          });
          const started = await one.ledger.authorize(call);
          expect(started).toEqual({ kind: "started" });
          await sleep(Math.random() * 10);
          const finished = await one.ledger.capture(completed(call));
          expect(finished.kind).toBe("captured");
          if (!call.payment) charged++;
        }
        return charged;
      }),
    ).finally(() => over.abort());
    await killer;
    const charged = outcomes.reduce((sum, count) => sum + count, 0);
    expect(charged).toBe(15 * 12);
    expect(await two.ledger.balance(account)).toBe(BigInt(1_000 - charged) * PRICE);
  });
});

describe("expired claims", () => {
  const expire = (account: string) =>
    one.pool.query(
      `update idempotency set expires_at = now() - interval '1 hour' where account_id = $1
        and expires_at < 'infinity'`,
      [account.slice(5)],
    );
  const end = async (call: CallAuthorization, ending: typeof completed | typeof failed) => {
    await one.ledger.authorize(call);
    await endRun(one.ledger, ending(call));
  };

  it("are deleted, except those of a payment", async () => {
    const account = await makeAccount(one.pool, 5n * PRICE);
    const payment = paymentOf(depositOf());
    const credited = depositOf();
    await one.ledger.credit(account, credited);
    await end(callOf(account, { idempotencyKey: "old" }), completed);
    await end(callOf(account, { idempotencyKey: "paid", payment }), completed);
    await end(callOf(account, { idempotencyKey: "found", payment: paymentOf(credited) }), completed);
    await one.ledger.authorize(callOf(account, { idempotencyKey: "alias", payment }));
    await one.ledger.authorize(callOf(account, { idempotencyKey: "running" }));
    await expire(account);
    expect(await one.sweeper.deleteExpiredClaims()).toBe(1);
    const keys = ["paid", "alias", "found"].map((idempotencyKey) => ({ idempotencyKey }));
    for (const known of [{ payment }, ...keys]) {
      expect(await one.ledger.authorize(callOf(account, known))).toMatchObject({ kind: "replay" });
    }
    expect(await one.ledger.authorize(callOf(account, { idempotencyKey: "running" }))).toEqual({
      kind: "in_progress",
    });
    expect(await one.ledger.authorize(callOf(account, { idempotencyKey: "old" }))).toEqual({
      kind: "started",
    });
  });

  it("are kept when a payment came later or the call ran again without it", async () => {
    const account = await makeAccount(one.pool, 5n * PRICE);
    for (const idempotencyKey of ["first", "again"]) {
      await end(callOf(account, { idempotencyKey }), failed);
      await end(callOf(account, { idempotencyKey, payment: paymentOf(depositOf()) }), failed);
    }
    await end(callOf(account, { idempotencyKey: "again" }), failed);
    await expire(account);
    expect(await one.sweeper.deleteExpiredClaims()).toBe(0);
  });

  it("are kept when their payment did not cover the call", async () => {
    const account = await makeAccount(one.pool, PRICE);
    await end(callOf(account, { idempotencyKey: "short" }), failed);
    await one.ledger.authorize(callOf(account));
    const call = callOf(account, { idempotencyKey: "short", payment: paymentOf(depositOf({ amount: 1n })) });
    expect(await one.ledger.authorize(call)).toEqual({ kind: "insufficient", balance: 1n });
    await expire(account);
    expect(await one.sweeper.deleteExpiredClaims()).toBe(0);
  });

  it("are all deleted in one run", async () => {
    const account = await makeAccount(one.pool, 0n);
    await one.pool.query(
      `insert into idempotency (account_id, key, fingerprint, state, run_id, expires_at)
       select $1, 'key:' || n, decode(repeat('00', 32), 'hex'), 'retryable', gen_random_uuid(), now()
         from generate_series(1, 1050) n`,
      [account.slice(5)],
    );
    const forgotten = await Promise.all([
      one.sweeper.deleteExpiredClaims(),
      two.sweeper.deleteExpiredClaims(),
    ]);
    expect(forgotten.reduce((sum, count) => sum + count)).toBe(1_050);
  });
});
