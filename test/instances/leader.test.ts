import { Client } from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { memoOf, startGround, type Agent, type Ground } from "../support/world.ts";
import { figureOf } from "../treasury/fixture.ts";
import { callAt, expectCleanAudit, PRICE } from "./calls.ts";
import { Instances, type Instance } from "./process.ts";

/** Three instances, one of which keeps the treasury, and dies, stalls or stops. */
const TAKE_OVER_MS = 15_000;
let ground: Ground;
let agent: Agent;
let running: Set<Instance>;
let settings: Record<string, string>;
const instances = new Instances();
beforeAll(async () => {
  ground = await startGround();
  settings = { ...ground.settings, WATCH_INTERVAL_MS: "250", METRICS_PORT: "0" };
  running = new Set();
});
beforeEach(async () => {
  while (running.size < 3) running.add(await instances.serve(settings));
  agent = await ground.agent();
});
afterEach(async () => {
  expect(await ground.violations()).toEqual([]);
});
afterAll(async () => {
  try {
    await expectCleanAudit(ground.settings);
  } finally {
    await instances.close();
    await ground.close();
  }
});

async function leaders(among: Iterable<Instance>): Promise<Instance[]> {
  const all = [...among];
  const leads = await Promise.all(
    all.map((each) => figureOf(each.metricsAddress, "toolgate_keeper_leading")),
  );
  return all.filter((_, index) => leads[index] === 1);
}

/** The one that leads, once there is one. */
async function leader(among: Iterable<Instance> = running): Promise<Instance> {
  await expect
    .poll(async () => (await leaders(among)).length, { timeout: TAKE_OVER_MS, interval: 50 })
    .toBe(1);
  const [first] = await leaders(among);
  if (!first) throw new Error("none leads");
  return first;
}

/** Who has the lead in the database; undefined: nobody. */
async function holder(): Promise<string | undefined> {
  const client = new Client({ connectionString: ground.database.url });
  await client.connect();
  const { rows } = await client.query<{ owner: string }>("select owner from leadership");
  await client.end();
  return rows[0]?.owner;
}

/** Pays a quote of the agent's without proving it; it is finalized at once. */
async function deposit(door: Instance, amount: bigint): Promise<void> {
  const { status, body } = await callAt(door, agent);
  expect(status, JSON.stringify(body)).toBe(402);
  await ground.pay(agent, amount, memoOf(body.quote));
  ground.chain.chain.advance(40);
}

const balance = () => ground.postgres.ledger.balance(agent.accountId);
const others = (than: Instance) => [...running].filter((each) => each !== than);

/** The deposit is there, and stays what it is: whoever looks again finds it recorded. */
async function expectCreditedOnce(amount: bigint, among: Iterable<Instance>): Promise<void> {
  await expect.poll(balance, { timeout: TAKE_OVER_MS, interval: 50 }).toBe(amount);
  const credited = await Promise.all(
    [...among].map((each) => figureOf(each.metricsAddress, "toolgate_payments_credited_total")),
  );
  expect(credited.reduce((sum: number, count) => sum + (count ?? 0), 0)).toBeGreaterThan(0);
  const paid = await callAt([...among][0] as Instance, agent);
  expect(paid.body.receipt?.paid_by, JSON.stringify(paid.body)).toBe("balance");
  expect(await balance()).toBe(amount - PRICE);
}

describe("of three instances one keeps the treasury", () => {
  it("and another does when that one is killed; a deposit made meanwhile is credited once", async () => {
    const doomed = await leader();
    const rest = others(doomed);
    doomed.signal("SIGKILL");
    running.delete(doomed);
    const since = performance.now();
    await deposit(rest[0] as Instance, 5_000n);
    await leader(rest);
    expect(performance.now() - since).toBeLessThan(TAKE_OVER_MS);
    await expectCreditedOnce(5_000n, rest);
  });

  it("and another does when that one stalls; when it goes on, it works no longer, and nothing happens twice", async () => {
    const stalled = await leader();
    const rest = others(stalled);
    stalled.signal("SIGSTOP");
    const since = performance.now();
    await deposit(rest[0] as Instance, 5_000n);
    const next = await leader(rest);
    expect(performance.now() - since).toBeLessThan(TAKE_OVER_MS);
    await expectCreditedOnce(5_000n, rest);
    stalled.signal("SIGCONT");
    await expect.poll(() => leaders(running), { timeout: TAKE_OVER_MS, interval: 50 }).toEqual([next]);
    expect(stalled.log()).toContain("this instance watches the treasury no longer");
    expect(await balance()).toBe(5_000n - PRICE);
  });

  it("and gives that up when it is told to stop, so that another need not wait", async () => {
    const old = await leader();
    const held = await holder();
    expect(held).toBeDefined();
    const rest = others(old);
    old.signal("SIGTERM");
    running.delete(old);
    expect(await old.ended).toBe(0);
    expect(await holder()).not.toBe(held);
    await leader(rest);
    await deposit(rest[0] as Instance, 5_000n);
    await expectCreditedOnce(5_000n, rest);
  });
});
