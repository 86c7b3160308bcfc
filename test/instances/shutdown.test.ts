import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import pg from "pg";
import { expect, it } from "vitest";
import { uuidOf } from "../../src/domain/core/ids.ts";
import { query } from "../support/database-server.ts";
import { request, xPayment, type Agent, type Answer } from "../support/world.ts";
import { callAt, PRICE, openGround } from "./calls.ts";
import { type Instance } from "./process.ts";
import { CHAT, slowModel } from "./slow-model.ts";

/** What a shutdown guarantees to waiting callers, departed callers and unseen payments. */
const model = await slowModel();
const { ground, instances } = await openGround();
const settings = {
  ...ground.settings,
  ...model.settings,
  PAYMENT_WAIT_MS: "60000",
  SHUTDOWN_GRACE_MS: "5000",
};

/** Starts the slow call on the account's balance. Returns once the model was queried, before its response. */
async function beginSlowCall(
  instance: Instance,
  agent: Agent,
  key: string,
  signal?: AbortSignal,
): Promise<{ answer: Promise<Answer> }> {
  model.holdBack();
  const asked = model.asked();
  const body = JSON.stringify({ ...CHAT, idempotency_key: key });
  const init = { method: "POST", body, ...(signal && { signal }) };
  const answer = request(instance, agent, "/v1/mcp/tools/call", init);
  answer.catch(() => {});
  await expect.poll(() => model.asked()).toBe(asked + 1);
  return { answer };
}

async function statusesOfRuns({ accountId }: Agent): Promise<string[]> {
  const page = { accountId, limit: 5, cursor: undefined, status: undefined };
  return (await ground.postgres.accountQueries.runs.list(page)).items.map(({ status }) => status);
}

/** Whether a call was counted against the rate limit: the gateway has received it, and its hold is next. */
async function hasTakenItsLimit({ accountId }: Agent): Promise<boolean> {
  const counted = `select from rate_bucket join api_key on id = bucket_id
    where account_id = '${uuidOf("acct", accountId)}'`;
  return (await query(ground.database.url, counted)).rowCount === 1;
}

it("keeps serving when its terminal closes, and finishes the running call when its process group gets SIGTERM", async () => {
  const [instance, agent] = await Promise.all([
    instances.serveInGroup(settings),
    ground.agent({ balance: 10_000_000n }),
  ]);
  const { answer } = await beginSlowCall(instance, agent, "before");
  instance.signalGroup("SIGHUP");
  await expect.poll(() => instance.log()).toContain("settings reloaded");
  model.letGo();
  expect((await answer).status).toBe(200);
  const { answer: last } = await beginSlowCall(instance, agent, "slow");
  instance.signalGroup("SIGTERM");
  await expect.poll(() => instance.log(), { interval: 10 }).toContain("stopping");
  // The bootstrap forwards the signal before or after the program received its own; here after.
  instance.signalGroup("SIGTERM");
  model.letGo();
  expect((await last).status).toBe(200);
  expect(await instance.ended).toBe(0);
});

it("finishes and charges the run of a departed caller", async () => {
  const [instance, agent] = await Promise.all([
    instances.serve(settings),
    ground.agent({ balance: 10_000_000n }),
  ]);
  const leaving = new AbortController();
  const { answer } = await beginSlowCall(instance, agent, "slow", leaving.signal);
  leaving.abort();
  await expect(answer).rejects.toThrow();
  instance.signal("SIGTERM");
  await expect.poll(() => instance.log()).toContain("stopping");
  expect(await statusesOfRuns(agent)).toEqual(["active"]);
  model.letGo();
  expect(await instance.ended).toBe(0);
  expect(await statusesOfRuns(agent)).toEqual(["completed"]);
});

it("answers calls whose batches run in the database in both lanes, and those waiting behind them", async () => {
  const instance = await instances.serve(settings);
  const agents = await Promise.all([1, 2, 3].map(() => ground.agent({ balance: PRICE })));
  const [first, second, third] = agents;
  if (!first || !second || !third) throw new Error("no agents");
  const client = new pg.Client({ connectionString: ground.database.url });
  await client.connect();
  /** Number of statements that wait for the locked accounts. */
  const blocked = async () => {
    const waiting =
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    return (await query(ground.database.url, waiting)).rowCount;
  };
  try {
    await client.query("begin");
    await client.query("select from account where id = any ($1) for update", [
      [first, second].map(({ accountId }) => uuidOf("acct", accountId)),
    ]);
    const answers = [callAt(instance, first)];
    await expect.poll(blocked).toBe(1);
    answers.push(callAt(instance, second));
    await expect.poll(blocked).toBe(2);
    answers.push(callAt(instance, third));
    await expect.poll(() => hasTakenItsLimit(third)).toBe(true);
    instance.signal("SIGTERM");
    await expect.poll(() => instance.log(), { interval: 10 }).toContain("stopping");
    await client.query("commit");
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await instance.ended).toBe(0);
  } finally {
    await client.end();
  }
  for (const agent of agents) expect(await statusesOfRuns(agent)).toEqual(["completed"]);
});

it("rejects callers that wait for their transaction as retryable", async () => {
  const [instance, agent] = await Promise.all([
    instances.serve({ ...settings, SHUTDOWN_GRACE_MS: "500" }),
    ground.agent(),
  ]);
  const { body } = await callAt(instance, agent);
  const unseen = base58.encode(randomBytes(64));
  const lookUps = () => ground.chain.faults.callCount("getTransaction");
  const before = lookUps();
  const waiting = callAt(instance, agent, { headers: xPayment(unseen, body.quote.quote_id) });
  await expect.poll(lookUps).toBeGreaterThan(before);
  instance.signal("SIGTERM");
  const answer = await waiting;
  expect({ status: answer.status, code: answer.body.code }).toEqual({ status: 503, code: "UNAVAILABLE" });
  expect(answer.body.message).toMatch(/stopping.*repeat/);
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await instance.ended).toBe(0);
});
