import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { uuidOf } from "../../../src/domain/core/ids.ts";
import { query } from "../../support/database-server.ts";
import { startModelServer, type ModelServer } from "../../support/model-server.ts";
import type { Agent, World } from "../../support/world.ts";
import { expectAccount, expectNothing, startScene } from "../scene.ts";
import { chat, payChat, statusesOfRuns, type PaidChat } from "./chat.ts";
import { TRANSPORTS } from "./transports.ts";

/** Clients that disconnect during each part of a paid call, on every transport. */
let world: World;
let model: ModelServer;
let agent: Agent;
let paid: PaidChat;
let leaving: AbortController;
const KEY = { "idempotency-key": "k" };
beforeAll(async () => {
  model = await startModelServer();
  world = await startScene({ INFERENCE_BASE_URL: model.url, PAYMENT_WAIT_MS: "20000" });
});
beforeEach(async () => {
  agent = await world.agent();
  paid = await payChat(world, agent);
  leaving = new AbortController();
});
afterEach(async () => {
  model.waits = undefined;
  world.chain.faults.clear();
  expect(await world.violations()).toEqual([]);
});
afterAll(async () => {
  await world.close();
  model.close();
});

describe.each(TRANSPORTS)("a caller that disconnects, at %s", (_name, call) => {
  const headers = () => ({ "x-payment": paid.headers["X-Payment"] ?? "", ...KEY });
  const begin = () => {
    const answer = call(world, agent, headers(), leaving.signal);
    answer.catch(() => {});
    return answer;
  };

  async function leave(answer: Promise<unknown>): Promise<void> {
    leaving.abort();
    await expect(answer).rejects.toThrow();
  }

  it("finishes, charges and stores the call when its caller disconnects while the tool runs", async () => {
    const gate = Promise.withResolvers<void>();
    model.waits = gate.promise;
    const answer = begin();
    await expect.poll(() => statusesOfRuns(world, agent)).toEqual(["active"]);
    await leave(answer);
    await noticed();
    expect(await statusesOfRuns(world, agent)).toEqual(["active"]);
    gate.resolve();
    await expect.poll(() => statusesOfRuns(world, agent)).toEqual(["completed"]);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
    const [receipt] = (await world.get(agent, "/receipts")).body.items;
    expect(receipt.tx_signature).toBe(paid.tx);
    const reported = { receipt_id: receipt.receipt_id, tx_signature: paid.tx };
    expect(await call(world, agent, headers(), AbortSignal.timeout(10_000))).toMatchObject(reported);
    expect((await chat(world, agent, { headers: KEY })).body.receipt).toEqual(receipt);
    expect((await chat(world, agent, { headers: paid.headers })).body.receipt).toEqual(receipt);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });

  it("releases the hold when the caller disconnects before the tool; the retry needs no second payment", async () => {
    await withAccountLocked(async (waiting) => {
      const answer = begin();
      await expect.poll(waiting, { interval: 10 }).toBe(1);
      await leave(answer);
      await noticed();
    });
    await expect.poll(() => statusesOfRuns(world, agent)).toEqual(["cancelled"]);
    await expectAccount(world, agent, { balance: paid.price, receipts: 0 });
    const retried = await call(world, agent, headers(), AbortSignal.timeout(10_000));
    expect(retried).toMatchObject({ tx_signature: paid.tx });
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
    expect(await statusesOfRuns(world, agent)).toEqual(["completed", "cancelled"]);
  });

  it("consumes nothing when the caller disconnects while its transaction is awaited", async () => {
    world.chain.faults.resetCallCounts();
    world.chain.faults.add({ method: "getTransaction", fault: { kind: "null" } });
    const unseen = { context: { slot: 1 }, value: [null] };
    world.chain.faults.add({ method: "getSignatureStatuses", fault: { kind: "result", result: unseen } });
    const answer = begin();
    await expect.poll(() => world.chain.faults.callCount("getTransaction")).toBeGreaterThan(0);
    await leave(answer);
    await noticed();
    world.chain.faults.clear();
    expect(await statusesOfRuns(world, agent)).toEqual([]);
    await expectNothing(world, agent);
    expect(await call(world, agent, headers(), AbortSignal.timeout(10_000))).toMatchObject({
      tx_signature: paid.tx,
    });
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });
});

/** Their responses show that the gateway has read the earlier requests. */
async function noticed(): Promise<void> {
  for (const _ of [1, 2, 3]) await world.get(undefined, "/health");
}

/** Holds up whatever changes the agent's account; `waiting` counts what waits for it. */
async function withAccountLocked(work: (waiting: () => Promise<number>) => Promise<void>): Promise<void> {
  const holder = new pg.Client({ connectionString: world.database.url });
  await holder.connect();
  try {
    await holder.query("begin");
    await holder.query("select from account where id = $1 for update", [uuidOf("acct", agent.accountId)]);
    await work(async () => {
      const { rows } = await query(
        world.database.url,
        `select count(*)::int as waiting from pg_stat_activity where datname = current_database()
          and wait_event_type = 'Lock'`,
      );
      return rows[0].waiting;
    });
  } finally {
    await holder.end();
  }
}
