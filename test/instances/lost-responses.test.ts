import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { uuidOf } from "../../src/domain/core/ids.ts";
import { memoOf, startHere, xPayment, type Agent } from "../support/world.ts";
import { callAt, expectAccount, payQuote, PRICE, openGround } from "./calls.ts";
import type { Instance } from "./process.ts";
import { CHAT, slowModel } from "./slow-model.ts";

/**
 * Instances that die after a commit and before they receive its response. Money has moved, but callers got
 * no response. A retry at another instance must return the outcome, once.
 */
const LEASE_MS = 1_000;
const model = await slowModel();
const { ground, instances, serveHere } = await openGround();
const quiet = { RUN_LEASE_MS: String(LEASE_MS), WATCH_INTERVAL_MS: "600000" };
const settings = { ...ground.settings, ...model.settings, ...quiet };
const survivor = await serveHere(settings);
let crashing: Instance;
let agent: Agent;

beforeEach(async () => {
  [crashing, agent] = await Promise.all([instances.serve(settings), ground.agent()]);
});
afterEach(() => model.letGo());

const page = () => ({ accountId: agent.accountId, limit: 5, cursor: undefined, status: undefined });
const runs = async () =>
  (await ground.postgres.accountQueries.runs.list(page())).items.map(({ status }) => status);
const WAITING = `select from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock'`;

/**
 * Kills the crashing instance at a commit: `lock` ($1 is the account) blocks its statement, is released once
 * the instance is stopped, and commits before the kill.
 */
async function dieUnheard(lock: string, call: () => Promise<unknown>): Promise<void> {
  const [holder, watcher] = [ground, ground].map(
    ({ database }) => new pg.Client({ connectionString: database.url }),
  );
  if (!holder || !watcher) throw new Error("there are two connections");
  await Promise.all([holder.connect(), watcher.connect()]);
  try {
    await holder.query("begin");
    await holder.query(lock, [uuidOf("acct", agent.accountId)]);
    const outcome = call().then(
      () => "answered",
      () => "lost",
    );
    const waiting = async () => (await watcher.query(WAITING)).rowCount;
    await expect.poll(waiting).toBe(1);
    crashing.signal("SIGSTOP");
    await holder.query("rollback");
    await expect.poll(waiting).toBe(0);
    // The waiting statement holds its locks; later reads wait for its end.
    await watcher.query("select from account where id = $1 for update", [uuidOf("acct", agent.accountId)]);
    await watcher.query("select from idempotency where account_id = $1 for update", [
      uuidOf("acct", agent.accountId),
    ]);
    crashing.signal("SIGKILL");
    await crashing.ended;
    expect(await outcome).toBe("lost");
  } finally {
    await Promise.all([holder.end(), watcher.end()]);
  }
}

const ACCOUNT = "select from account where id = $1 for update";

describe("an instance that dies before it receives the database response", () => {
  it("has charged a call, and retries elsewhere replay it at once by its key, its proof or both", async () => {
    const { headers } = await payQuote(ground, crashing, agent, CHAT);
    model.holdBack();
    const asked = model.asked();
    const answer = callAt(crashing, agent, { ...CHAT, headers, key: "k" });
    await expect.poll(() => model.asked()).toBe(asked + 1);
    await dieUnheard("select from idempotency where account_id = $1 for update", () => {
      model.letGo();
      return answer;
    });
    const [receipt] = (await ground.postgres.accountQueries.receipts.list(page())).items;
    for (const how of [{ key: "k" }, { headers }, { headers, key: "k" }]) {
      // Each at an instance that has cached nothing of the call.
      const elsewhere = await startHere(settings);
      const retried = await callAt(elsewhere, agent, { ...CHAT, ...how });
      await elsewhere.close();
      expect(retried.status, JSON.stringify(retried.body)).toBe(200);
      expect(retried.body.receipt.receipt_id).toBe(receipt?.receiptId);
    }
    expect(model.asked(), "the tool ran once").toBe(asked + 1);
    await expectAccount(survivor, agent, { balance: 0n, receipts: 1 });
    expect(await runs()).toEqual(["completed"]);
  });

  it("has credited an underpayment once, as the retry elsewhere reports", async () => {
    const { quote } = (await callAt(crashing, agent)).body;
    const headers = xPayment(await ground.pay(agent, PRICE - 1n, memoOf(quote)), quote.quote_id);
    await dieUnheard(ACCOUNT, () => callAt(crashing, agent, { headers }));
    await expectAccount(survivor, agent, { balance: PRICE - 1n, receipts: 0 });
    for (const _ of [1, 2]) {
      const retried = await callAt(survivor, agent, { headers });
      expect({ status: retried.status, code: retried.body.code }).toEqual({
        status: 402,
        code: "INVALID_PAYMENT",
      });
      expect(retried.body.message).toMatch(/\$0\.000999 was sent.*had been credited to your balance before/);
    }
    await expectAccount(survivor, agent, { balance: PRICE - 1n, receipts: 0 });
  });

  it("has credited a late payment once, and the balance pays the call elsewhere", async () => {
    const { quote } = (await callAt(crashing, agent)).body;
    ground.chain.chain.setTimeOffset(420);
    const headers = xPayment(await ground.pay(agent, PRICE, memoOf(quote)), quote.quote_id);
    ground.chain.chain.setTimeOffset(0);
    await dieUnheard(ACCOUNT, () => callAt(crashing, agent, { headers }));
    const retried = await callAt(survivor, agent, { headers });
    expect(retried.body).toMatchObject({
      code: "QUOTE_EXPIRED",
      message: expect.stringMatching(/credited.*before/),
    });
    await expectAccount(survivor, agent, { balance: PRICE, receipts: 0 });
    expect((await callAt(survivor, agent)).body.receipt.paid_by).toBe("balance");
    await expectAccount(survivor, agent, { balance: 0n, receipts: 1 });
  });

  it("has credited and held a payment once, and the call runs elsewhere after the lease", async () => {
    const { headers } = await payQuote(ground, crashing, agent);
    await dieUnheard(ACCOUNT, () => callAt(crashing, agent, { headers, key: "k" }));
    expect(await runs()).toEqual(["active"]);
    await expect
      .poll(async () => (await callAt(survivor, agent, { headers })).status, {
        interval: 100,
      })
      .toBe(200);
    await expectAccount(survivor, agent, { balance: 0n, receipts: 1 });
    expect(await runs()).toEqual(["completed", "failed"]);
    expect((await callAt(survivor, agent, { key: "k" })).status).toBe(200);
    await expectAccount(survivor, agent, { balance: 0n, receipts: 1 });
  });

  it("has bound the new key of a replay to the call that the proof bought", async () => {
    const { headers } = await payQuote(ground, crashing, agent);
    const bought = await callAt(crashing, agent, { headers, key: "k" });
    expect(bought.status).toBe(200);
    const sameKey = `insert into idempotency (account_id, key, fingerprint, state, run_id, expires_at)
      select account_id, 'key:second', fingerprint, 'retryable', run_id, expires_at
      from idempotency where account_id = $1 and key = 'key:k'`;
    await dieUnheard(sameKey, () => callAt(crashing, agent, { headers, key: "second" }));
    expect((await callAt(survivor, agent, { key: "second" })).body).toEqual(bought.body);
    expect((await callAt(survivor, agent, { headers, key: "second" })).body).toEqual(bought.body);
    await expectAccount(survivor, agent, { balance: 0n, receipts: 1 });
  });
});
