import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { CallAuthorization } from "../../../src/app/calls/ledger.ts";
import { uuidOf } from "../../../src/domain/core/ids.ts";
import { DatabaseUnavailableError } from "../../../src/postgres/database/database-errors.ts";
import { PostgresLedger } from "../../../src/postgres/ledger/ledger.ts";
import { openPool } from "../../../src/postgres/database/pool.ts";
import { PostgresReceipts } from "../../../src/postgres/ledger/history.ts";
import { PostgresRuns } from "../../../src/postgres/ledger/runs.ts";
import { PostgresTreasuryLedger } from "../../../src/postgres/treasury/treasury-ledger.ts";
import { openCuttingProxy, type CuttingProxy } from "../database/cutting-proxy.ts";
import {
  callOf,
  completed,
  depositOf,
  expectCleanAudit,
  expireLeases,
  failed,
  openInstance,
  paymentOf,
  PRICE,
  type Instance,
  endRun,
  openLedger,
  inTransaction,
} from "../fixture.ts";

const { database, one, two } = await openLedger();

describe("an instance that dies during a call", () => {
  it("leaves a payment that the retry uses, without a second payment", async () => {
    const account = await one.account();
    const deposit = depositOf();
    const call = await one.start(account, { payment: paymentOf(deposit) });
    await expireLeases(one.pool, call);
    await two.sweeper.sweep();
    const retry = await two.start(account, { payment: { ...paymentOf(deposit), transfer: undefined } });
    expect(await two.ledger.capture(completed(retry))).toMatchObject({
      kind: "captured",
      receipt: { txSignature: deposit.reference },
    });
    expect(await two.balance(account)).toBe(0n);
  });

  it("has each run released once by concurrent sweeps", async () => {
    const account = await one.account(250n * PRICE);
    const calls = Array.from({ length: 250 }, () => callOf(account));
    await Promise.all(calls.map((call) => one.ledger.authorize(call)));
    await expireLeases(one.pool, ...calls);
    const swept = await Promise.all([one.sweeper.sweep(), two.sweeper.sweep(), one.sweeper.sweep()]);
    expect(swept.reduce((sum, count) => sum + count)).toBe(250);
    expect(await one.balance(account)).toBe(250n * PRICE);
  });
});

describe("an instance that stalls past its lease", () => {
  it("cannot charge the released run, and the retry is charged once", async () => {
    const account = await one.account(2n * PRICE);
    const call = await one.start(account, { idempotencyKey: "stall" });
    await expireLeases(one.pool, call);
    await two.sweeper.sweep();
    expect(await one.ledger.capture(completed(call))).toEqual({ kind: "lost" });
    const retry = await two.start(account, { idempotencyKey: "stall" });
    expect(await one.ledger.capture(completed(call))).toEqual({ kind: "lost" });
    expect(await one.ledger.release(failed(call))).toEqual({ kind: "lost" });
    expect(await two.ledger.capture(completed(retry))).toMatchObject({ kind: "captured" });
    expect(await one.ledger.capture(completed(call))).toEqual({ kind: "lost" });
    expect(await one.balance(account)).toBe(PRICE);
  });

  it("keeps a run by heartbeat when it stalls for less than its lease", async () => {
    const account = await one.account(2n * PRICE);
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
    const account = await one.account(100n * PRICE);
    const calls = Array.from({ length: 60 }, () => callOf(account));
    await Promise.all(calls.map((call) => one.ledger.authorize(call)));
    await expireLeases(one.pool, ...calls);
    const [finished] = await Promise.all([
      Promise.all(calls.map((call) => one.ledger.capture(completed(call)))),
      two.sweeper.sweep(),
      one.sweeper.sweep(),
    ]);
    const captured = finished.filter(({ kind }) => kind === "captured").length;
    expect(await one.balance(account)).toBe(BigInt(100 - captured) * PRICE);
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
    const account = await one.account(9n * PRICE);
    for (const call of [
      callOf(account),
      callOf(account, { idempotencyKey: "lost" }),
      callOf(account, { payment: paymentOf(depositOf()) }),
    ]) {
      const before = await one.balance(account);
      expect(await withCut(() => behind.ledger.authorize(call))).toEqual({ kind: "started" });
      expect(await one.balance(account)).toBe(call.payment ? before : before - PRICE);
      expect(await behind.ledger.capture(completed(call))).toMatchObject({ kind: "captured" });
    }
  });

  it("is recovered by a retry that ends the run once, with the same result", async () => {
    const account = await one.account(2n * PRICE);
    const [good, bad] = [callOf(account, { idempotencyKey: "good" }), callOf(account)];
    await behind.ledger.authorize(good);
    await behind.ledger.authorize(bad);
    const finished = await withCut(() => behind.ledger.capture(completed(good)));
    expect(finished).toMatchObject({ kind: "captured", receipt: { debited: PRICE } });
    expect(await withCut(() => behind.ledger.release(failed(bad)))).toEqual({ kind: "released" });
    expect(await one.balance(account)).toBe(PRICE);
    expect(await one.authorize(account, { idempotencyKey: "good" })).toMatchObject(
      finished.kind === "captured" ? { kind: "replay", receipt: finished.receipt } : {},
    );
  });

  it("is recovered by a retry that reads receipts and runs", async () => {
    const page = {
      accountId: await one.account(),
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
    const account = await one.account();
    expect(await withCut(() => behind.ledger.credit(account, depositOf({ amount: 5n })))).toMatchObject({
      balance: 5n,
    });
  });

  it("is recovered by a retry that reverses the payment once and reports it", async () => {
    const account = await one.account(5n);
    const deposit = depositOf();
    await one.ledger.credit(account, deposit);
    const treasury = new PostgresTreasuryLedger(behind);
    const reversed = { accountId: account, amount: PRICE, balance: 5n };
    expect(await withCut(() => treasury.reverse(deposit))).toEqual(reversed);
    expect(await treasury.reverse(deposit)).toBeUndefined();
    expect(await one.balance(account)).toBe(5n);
  });
});

describe("a locked account", () => {
  it("delays neither the starts nor the ends of other accounts' calls", async () => {
    const hasty = openInstance(database.url, { lockTimeoutMs: 1_000 });
    onTestFinished(() => hasty.close());
    const [held, free] = [await one.account(9n * PRICE), await one.account(9n * PRICE)];
    const [blocked, ended] = [await hasty.start(held), await hasty.start(free)];
    await inTransaction(two.pool, async (holder) => {
      await holder.query("select from account where id = $1 for update", [uuidOf("acct", held)]);
      const [beginHeld, beginFree, endHeld, endFree] = await Promise.allSettled([
        hasty.authorize(held),
        hasty.authorize(free),
        hasty.ledger.release(failed(blocked)),
        hasty.ledger.capture(completed(ended)),
      ]);
      const busy = { status: "rejected", reason: { code: "UNAVAILABLE", retryAfterSeconds: 1 } };
      expect([beginHeld, endHeld]).toMatchObject([busy, busy]);
      expect([beginFree, endFree]).toMatchObject([
        { status: "fulfilled", value: { kind: "started" } },
        { status: "fulfilled", value: { kind: "captured" } },
      ]);
    });
  });
});

describe("an unreachable database", () => {
  it("is reported to all waiting calls at once", async () => {
    const pool = openPool("postgres://nobody@127.0.0.1:1/none", { max: 4, applicationName: "test away" });
    const { instanceId, leases } = one;
    const ledger = new PostgresLedger({ pool, instanceId, leaseMs: 15_000, leases });
    const account = await one.account();
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
    const account = await one.account(1_000n * PRICE);
    let progress = 0;
    const load = { over: false };
    const kill = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1";
    const killer = (async () => {
      while (!load.over) {
        await two.pool.query(kill, [`test ${one.instanceId}`]);
        // A new connection serves some calls before the next kill, however busy the machine is.
        const before = progress;
        await expect.poll(() => load.over || progress > before + 15, { interval: 5 }).toBe(true);
      }
    })();
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, async (_, worker) => {
        let charged = 0;
        for (let round = 0; round < 12; round++) {
          const call = await one.start(account, {
            idempotencyKey: worker % 2 === 0 ? `kill ${worker} ${round}` : undefined,
            payment: worker % 4 === 1 ? paymentOf(depositOf()) : undefined,
          });
          progress++;
          expect(await one.ledger.capture(completed(call))).toMatchObject({ kind: "captured" });
          progress++;
          if (!call.payment) charged++;
        }
        return charged;
      }),
    ).finally(() => (load.over = true));
    await killer;
    // Finds the connections that the last kill left in the pool; the next test would.
    await Promise.allSettled(Array.from({ length: 4 }, () => one.pool.query("select pg_sleep(0.05)")));
    const charged = outcomes.reduce((sum, count) => sum + count, 0);
    expect(charged).toBe(15 * 12);
    expect(await two.balance(account)).toBe(BigInt(1_000 - charged) * PRICE);
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
    const account = await one.account(5n * PRICE);
    const payment = paymentOf(depositOf());
    const credited = depositOf();
    await one.ledger.credit(account, credited);
    await end(callOf(account, { idempotencyKey: "old" }), completed);
    await end(callOf(account, { idempotencyKey: "paid", payment }), completed);
    await end(callOf(account, { idempotencyKey: "found", payment: paymentOf(credited) }), completed);
    await one.authorize(account, { idempotencyKey: "alias", payment });
    await one.authorize(account, { idempotencyKey: "running" });
    await expire(account);
    expect(await one.sweeper.retention.deleteExpired(["claims"])).toBe(1);
    const keys = ["paid", "alias", "found"].map((idempotencyKey) => ({ idempotencyKey }));
    for (const known of [{ payment }, ...keys]) {
      expect(await one.authorize(account, known)).toMatchObject({ kind: "replay" });
    }
    expect(await one.authorize(account, { idempotencyKey: "running" })).toEqual({
      kind: "in_progress",
    });
    expect(await one.authorize(account, { idempotencyKey: "old" })).toEqual({
      kind: "started",
    });
  });

  it("are kept when a payment came later or the call ran again without it", async () => {
    const account = await one.account(5n * PRICE);
    for (const idempotencyKey of ["first", "again"]) {
      await end(callOf(account, { idempotencyKey }), failed);
      await end(callOf(account, { idempotencyKey, payment: paymentOf(depositOf()) }), failed);
    }
    await end(callOf(account, { idempotencyKey: "again" }), failed);
    await expire(account);
    expect(await one.sweeper.retention.deleteExpired(["claims"])).toBe(0);
  });

  it("are kept when their payment did not cover the call", async () => {
    const account = await one.account(PRICE);
    await end(callOf(account, { idempotencyKey: "short" }), failed);
    await one.authorize(account);
    const call = callOf(account, { idempotencyKey: "short", payment: paymentOf(depositOf({ amount: 1n })) });
    expect(await one.ledger.authorize(call)).toEqual({ kind: "insufficient", balance: 1n });
    await expire(account);
    expect(await one.sweeper.retention.deleteExpired(["claims"])).toBe(0);
  });

  it("are all deleted in one run", async () => {
    const account = await one.account();
    await one.pool.query(
      `insert into idempotency (account_id, key, fingerprint, state, run_id, expires_at)
       select $1, 'key:' || n, decode(repeat('00', 32), 'hex'), 'retryable', gen_random_uuid(), now()
         from generate_series(1, 1050) n`,
      [account.slice(5)],
    );
    const forgotten = await Promise.all([
      one.sweeper.retention.deleteExpired(["claims"]),
      two.sweeper.retention.deleteExpired(["claims"]),
    ]);
    expect(forgotten.reduce((sum, count) => sum + count)).toBe(1_050);
  });
});

it("leaves a ledger that passes the audit", () => expectCleanAudit(one.pool));
