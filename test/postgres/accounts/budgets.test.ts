import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CallAuthorization } from "../../../src/app/calls/ledger.ts";
import type { BudgetLimits } from "../../../src/domain/accounts/budget.ts";
import { uuidOf } from "../../../src/domain/core/ids.ts";
import { addEndpoint } from "../webhooks/webhook-fixture.ts";
import {
  callOf,
  completed,
  depositOf,
  endRun,
  expectCleanAudit,
  expireLeases,
  failed,
  paymentOf,
  PRICE,
  setLimits,
  untilWaiting,
  openLedger,
  inTransaction,
  type TestKey as Key,
} from "../fixture.ts";
import { refundRun } from "../../support/operator-acts.ts";

const { one, instances } = await openLedger();

/** The largest bigint of PostgreSQL. */
const MOST = 2n ** 63n - 1n;

/** Creates a group with limits and puts the keys into it. */
async function groupOf(account: string, limits: Partial<BudgetLimits>, ...keys: Key[]): Promise<string> {
  const group = randomUUID();
  await one.pool.query(
    `insert into budget (id, account_id, name, day, month)
     values ($1, $2, 'CI', (now() at time zone 'utc')::date, date_trunc('month', now() at time zone 'utc'))`,
    [group, uuidOf("acct", account)],
  );
  await setLimits(one.pool, group, limits);
  await join(group, ...keys);
  return group;
}

/** Moves keys to a group, as an edit does; callers that were authenticated before do not know it. */
async function join(group: string | null, ...keys: Key[]): Promise<void> {
  const ids = keys.map(({ keyId }) => uuidOf("key", keyId));
  await one.pool.query("select limits_lock(account_id) from api_key where id = any ($1::uuid[])", [ids]);
  await one.pool.query("update api_key set group_id = $1 where id = any ($2::uuid[])", [group, ids]);
}

/** What counts against the limits per day, per month and in all. */
async function counted(budget: string | undefined): Promise<bigint[]> {
  const text = "select spent from budget_limit where budget_id = $1 order by rank desc";
  return (await one.pool.query<{ spent: bigint }>(text, [budget])).rows.map(({ spent }) => spent);
}

const ofKey = ({ keyId }: Key) => counted(uuidOf("key", keyId));

async function kinds(...calls: CallAuthorization[]): Promise<string[]> {
  return (await Promise.all(calls.map((call) => one.ledger.authorize(call)))).map(({ kind }) => kind);
}

/** Moves all that was counted to the month before. */
async function letAMonthPass(account: string): Promise<void> {
  const values = [uuidOf("acct", account)];
  await one.pool.query(
    `update budget set day = (date_trunc('month', day) - interval '1 day')::date,
       month = (month - interval '1 month')::date where account_id = $1`,
    values,
  );
  await one.pool.query(
    `update run set started_at = (date_trunc('month', started_at at time zone 'utc') - interval '1 hour')
       at time zone 'utc' where account_id = $1`,
    values,
  );
}

describe("limits per period", () => {
  it("names the limit that holds longest, with its period, spent amount and reset", async () => {
    const account = await one.account(100n * PRICE);
    const key = await one.key(account, { perDay: PRICE, perMonth: PRICE, inAll: 2n * PRICE });
    expect(await kinds(callOf(account, key))).toEqual(["started"]);
    const refusal = await one.authorize(account, key);
    expect(refusal).toMatchObject({ kind: "capped", limit: { period: "month", limit: PRICE, spent: PRICE } });
    const { resetsAt } = (refusal as Extract<typeof refusal, { kind: "capped" }>).limit;
    expect(resetsAt?.toISOString()).toMatch(/-01T00:00:00\.000Z$/);
    await setLimits(one.pool, uuidOf("key", key.keyId), { perMonth: 9n * PRICE, inAll: PRICE });
    expect(await one.ledger.refusalOf(callOf(account, key))).toMatchObject({
      kind: "capped",
      limit: { period: "total", spent: PRICE, resetsAt: undefined },
    });
  });

  it("resets a monthly limit with the month, and never the one in all", async () => {
    const account = await one.account(100n * PRICE);
    const key = await one.key(account, { perMonth: 2n * PRICE, inAll: 3n * PRICE });
    const [late, done] = [callOf(account, key), callOf(account, key)];
    expect(await kinds(late, done, callOf(account, key))).toEqual(["started", "started", "capped"]);
    await letAMonthPass(account);
    expect(await ofKey(key)).toEqual([0n, 0n, 2n * PRICE]);
    expect(await kinds(callOf(account, key), callOf(account, key))).toEqual(["started", "capped"]);
    await one.ledger.release(failed(late));
    await one.ledger.capture({ ...completed(done), captured: 1n });
    expect(await ofKey(key)).toEqual([PRICE, PRICE, PRICE + 1n]);
  });

  it("holds no other call up when its counters are wrong", async () => {
    const [account, other] = [await one.account(100n * PRICE), await one.account(100n * PRICE)];
    const key = await one.key(account, { perDay: 9n * PRICE });
    const calls = [callOf(account, key), callOf(other), callOf(other)];
    const set = (to: bigint) =>
      one.pool.query("update budget set day_spent = $2, month_spent = $2, total_spent = $2 where id = $1", [
        uuidOf("key", key.keyId),
        to,
      ]);
    expect(await kinds(...calls)).toEqual(["started", "started", "started"]);
    await set(0n);
    const ends = calls.map((call) => one.ledger.capture({ ...completed(call), captured: 1n }));
    expect((await Promise.all(ends)).map(({ kind }) => kind)).toEqual(["captured", "captured", "captured"]);
    expect(await ofKey(key)).toEqual([0n, 0n, 0n]);
    await set(MOST - 1n);
    expect(await kinds(callOf(account, key), callOf(other))).toEqual(["capped", "started"]);
    await setLimits(one.pool, uuidOf("key", key.keyId), { perDay: MOST });
    await set(MOST - 1n);
    // The limit per day is reached; what has none is not counted further.
    await one.pool.query("update budget set day_spent = 0 where id = $1", [uuidOf("key", key.keyId)]);
    expect(await kinds(callOf(account, key), callOf(other))).toEqual(["started", "started"]);
    expect(await ofKey(key)).toEqual([PRICE, MOST, MOST]);
    await one.pool.query("delete from budget where id = $1", [uuidOf("key", key.keyId)]);
  });

  it("counts a call that waited past midnight on the day that its budget is at", async () => {
    const account = await one.account(100n * PRICE);
    const key = await one.key(account, { perDay: PRICE });
    const tomorrow = "update budget set day = day + 1, month = date_trunc('month', day + 1) where id = $1";
    await one.pool.query(tomorrow, [uuidOf("key", key.keyId)]);
    const late = callOf(account, key);
    expect(await kinds(late, callOf(account, key))).toEqual(["started", "capped"]);
    await one.ledger.release(failed(late));
    expect((await ofKey(key))[0]).toBe(0n);
  });
});

describe("a group of keys", () => {
  it("is filled exactly by its keys under concurrent calls on three instances", async () => {
    const account = await one.account(1_000n * PRICE);
    const keys = [await one.key(account, { perDay: 4n * PRICE }), await one.key(account)];
    const group = await groupOf(account, { perMonth: 9n * PRICE }, ...keys);
    const calls = Array.from({ length: 120 }, (_, n) =>
      callOf(account, { ...keys[n % 2]!, ...(n % 3 === 0 && { idempotencyKey: `call ${n}` }) }),
    );
    const answers = await Promise.all(calls.map((call, n) => instances[n % 3]!.ledger.authorize(call)));
    expect(answers.filter(({ kind }) => kind === "started")).toHaveLength(9);
    expect(await counted(group)).toEqual([9n * PRICE, 9n * PRICE, 9n * PRICE]);
    expect((await ofKey(keys[0]!))[0]! <= 4n * PRICE).toBe(true);
    expect(await one.ledger.refusalOf(callOf(account, keys[1]))).toMatchObject({
      limit: { period: "month", group: { name: "CI" } },
    });
  });

  it("returns what a call held to the group that its key was in when it started", async () => {
    const account = await one.account(100n * PRICE);
    const key = await one.key(account);
    const from = await groupOf(account, { inAll: 5n * PRICE }, key);
    const call = callOf(account, key);
    expect(await kinds(call)).toEqual(["started"]);
    const to = await groupOf(account, { inAll: PRICE }, key);
    expect(await kinds(callOf(account, key), callOf(account, key))).toEqual(["started", "capped"]);
    await one.ledger.capture({ ...completed(call), captured: 3n });
    expect([(await counted(from))[2], (await counted(to))[2]]).toEqual([3n, PRICE]);
    await join(null, key);
    expect(await kinds(callOf(account, key))).toEqual(["started"]);
  });
});

describe("a change of limits", () => {
  it("holds for callers that were authenticated before, and counts all that was spent and is held", async () => {
    const account = await one.account(100n * PRICE);
    const key = await one.key(account);
    const [held, partly, done] = [callOf(account, key), callOf(account, key), callOf(account, key)];
    const paid = callOf(account, { ...key, payment: paymentOf(depositOf()) });
    expect(await kinds(held, partly, done, paid)).toEqual(Array(4).fill("started"));
    await one.ledger.capture(completed(done));
    await one.pool.query("select budget_open($1)", [uuidOf("key", key.keyId)]);
    await setLimits(one.pool, uuidOf("key", key.keyId), { perDay: 4n * PRICE });
    expect(await ofKey(key)).toEqual([3n * PRICE, 3n * PRICE, 3n * PRICE]);
    // The callers still believe that the key is unlimited.
    expect(await kinds(callOf(account, key), callOf(account, key))).toEqual(["started", "capped"]);
    await one.ledger.release(failed(held));
    await one.ledger.capture({ ...completed(partly), captured: 1n });
    expect((await ofKey(key))[0]).toBe(2n * PRICE + 1n);
    await setLimits(one.pool, uuidOf("key", key.keyId), { perDay: 2n * PRICE });
    expect(await kinds(callOf(account, key))).toEqual(["capped"]);
  });

  it("counts a long call that started before the last hour", async () => {
    const account = await one.account(100n * PRICE);
    const key = await one.key(account);
    const calls = [callOf(account, key), callOf(account, key)];
    for (const call of calls) call.runId = `run_0180${call.runId.slice(8)}`;
    await one.pool.query("update api_key set created_at = '2020-01-01' where id = $1", [
      uuidOf("key", key.keyId),
    ]);
    expect(await kinds(...calls)).toEqual(["started", "started"]);
    await one.ledger.capture(completed(calls[0]!));
    await one.pool.query("select budget_open($1)", [uuidOf("key", key.keyId)]);
    expect((await ofKey(key))[2]).toBe(2n * PRICE);
    await one.ledger.release(failed(calls[1]!));
    expect((await ofKey(key))[2]).toBe(PRICE);
  });

  it("refuses a call that waits for it", async () => {
    const account = await one.account(100n * PRICE);
    const key = await one.key(account, { perDay: 5n * PRICE });
    const two = instances[1];
    for (const limited of [key, { ...key, budgeted: false }]) {
      await inTransaction(two.pool, async (other) => {
        await other.query("select limits_lock($1)", [uuidOf("acct", account)]);
        await other.query("select budget_change($1, 1, null, null, 80)", [uuidOf("key", key.keyId)]);
        const waiting = one.authorize(account, limited);
        await untilWaiting(two.pool, one);
        await other.query("commit");
        expect(await waiting).toMatchObject({ kind: "capped", limit: { limit: 1n } });
      });
    }
  });

  it("applies new tools and a new price per call to callers that were authenticated before", async () => {
    const account = await one.account(100n * PRICE);
    const key = await one.key(account);
    const change = (set: string) =>
      one.pool.query(`update api_key set ${set} where id = $1 returning limits_lock(account_id)`, [
        uuidOf("key", key.keyId),
      ]);
    await change(`call_limit = ${PRICE - 1n}`);
    expect(await one.authorize(account, key)).toMatchObject({
      kind: "capped",
      limit: { period: "call", limit: PRICE - 1n },
    });
    await change("call_limit = null, tools = '{echo}'");
    expect(await kinds(callOf(account, key))).toEqual(["excluded"]);
  });
});

describe("events of budgets", () => {
  it("writes each level once per period, and again after the limit was raised", async () => {
    const account = await one.account(100n * PRICE);
    await addEndpoint(one.pool, account, ["budget.threshold_reached", "budget.exhausted"]);
    const key = await one.key(account, { perDay: 4n * PRICE, warnPercent: 50 });
    const events = async () => {
      const text = "select type, data from webhook_event where account_id = $1 order by seq";
      return (await one.pool.query(text, [uuidOf("acct", account)])).rows;
    };
    const [first, second, third] = [callOf(account, key), callOf(account, key), callOf(account, key)];
    await kinds(first);
    expect(await events()).toEqual([]);
    await kinds(second);
    await one.ledger.release(failed(second));
    await kinds(third);
    expect(await events()).toMatchObject([
      {
        type: "budget.threshold_reached",
        data: {
          key_id: key.keyId,
          period: "day",
          limit_usdc_microusd: Number(4n * PRICE),
          spent_usdc_microusd: Number(2n * PRICE),
          warn_percent: 50,
        },
      },
    ]);
    await kinds(callOf(account, key), callOf(account, key));
    expect((await events()).map(({ type }) => type)).toEqual([
      "budget.threshold_reached",
      "budget.exhausted",
    ]);
    await setLimits(one.pool, uuidOf("key", key.keyId), { perDay: 5n * PRICE, warnPercent: 50 });
    // A call that no longer fits says so; one that never fits does not.
    await kinds(callOf(account, { ...key, price: 6n * PRICE }));
    expect(await events()).toHaveLength(2);
    for (let n = 0; n < 3; n++) await kinds(callOf(account, { ...key, price: 2n * PRICE }));
    expect(await events()).toHaveLength(3);
    await kinds(callOf(account, key));
    expect((await events()).map(({ type }) => type)).toEqual([
      "budget.threshold_reached",
      "budget.exhausted",
      "budget.exhausted",
    ]);
  });
});

const small = (max: number) => fc.nat({ max: max - 1 });
const step = fc.record({
  do: fc.constantFrom("call", "call", "call", "end", "end", "sweep", "limit", "move", "refund"),
  at: small(3),
  key: small(3),
  pick: small(8),
  captured: fc.bigInt({ min: 1n, max: PRICE }),
});

it("never exceeds a limit of a key or group, whatever races", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 40, maxLength: 80 }), async (steps) => {
      const account = await one.account(1_000n * PRICE);
      const keys = [
        await one.key(account, { perDay: 3n * PRICE, perMonth: 4n * PRICE }),
        await one.key(account, { inAll: 5n * PRICE }),
        await one.key(account),
      ];
      const groups = [
        await groupOf(account, { perDay: 6n * PRICE }, keys[0]!, keys[2]!),
        await groupOf(account, { inAll: 3n * PRICE }),
      ];
      const running: CallAuthorization[] = [];
      await Promise.all(
        steps.map(async ({ at, key, pick, captured, do: action }) => {
          const { ledger, sweeper, pool } = instances[at]!;
          const run = running[pick % Math.max(running.length, 1)];
          if (action === "call") {
            const idempotencyKey = pick === 0 ? "shared" : undefined;
            const call = callOf(account, { ...keys[key], idempotencyKey });
            if ((await ledger.authorize(call)).kind === "started") running.push(call);
          } else if (action === "end" && run) {
            await endRun(ledger, pick % 3 === 0 ? failed(run) : { ...completed(run), captured });
          } else if (action === "sweep" && run) {
            await expireLeases(pool, run);
            await sweeper.sweep();
          } else if (action === "limit") {
            await setLimits(pool, groups[1], { inAll: 3n * PRICE + captured });
          } else if (action === "move") {
            await join(groups[pick % 2]!, keys[key]!);
          } else if (action === "refund" && run) {
            await refundRun(pool, uuidOf("run", run.runId));
          }
        }),
      );
      const over = await one.pool.query(
        `select * from budget_limit where account_id = $1
         and spent > case budget_id when $2 then $3 else amount end`,
        // The highest limit that this group had.
        [uuidOf("acct", account), groups[1], 4n * PRICE],
      );
      expect(over.rows).toEqual([]);
    }),
    { numRuns: 4, endOnFailure: true },
  );
  const text = "select deadlocks from pg_stat_database where datname = current_database()";
  expect((await one.pool.query(text)).rows).toEqual([{ deadlocks: 0n }]);
});

it("leaves a ledger that passes the audit", () => expectCleanAudit(one.pool));
