import { Client } from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { memoOf, type Agent } from "../support/world.ts";
import { figureOf } from "../crediting/fixture.ts";
import { callAt, PRICE, openGround } from "./calls.ts";
import { type Instance } from "./process.ts";

/** Three instances, of which the treasury leader stalls, stops or dies. */
const { ground, instances } = await openGround();
const settings = { ...ground.settings, WATCH_INTERVAL_MS: "250", METRICS_PORT: "0" };
const serve = () => instances.serve(settings);
const running = new Set(await Promise.all([serve(), serve(), serve()]));
let agent: Agent;

beforeEach(async () => {
  agent = await ground.agent();
});
afterEach(async () => {
  expect(await ground.violations()).toEqual([]);
});

async function leaders(among: Iterable<Instance>): Promise<Instance[]> {
  const all = [...among];
  const leads = await Promise.all(
    all.map((each) => figureOf(each.metricsAddress, "toolgate_keeper_leading")),
  );
  return all.filter((_, index) => leads[index] === 1);
}

/** Waits for a leader. */
async function leader(among: Iterable<Instance> = running): Promise<Instance> {
  await expect.poll(async () => (await leaders(among)).length, { interval: 200 }).toBe(1);
  const [first] = await leaders(among);
  if (!first) throw new Error("none leads");
  return first;
}

/** The leader by the database; undefined when none. */
async function holder(): Promise<string | undefined> {
  const client = new Client({ connectionString: ground.database.url });
  await client.connect();
  const { rows } = await client.query<{ owner: string }>("select owner from leadership");
  await client.end();
  return rows[0]?.owner;
}

/** Pays a quote without proving it, finalized at once. */
async function deposit(target: Instance, amount: bigint): Promise<void> {
  const { status, body } = await callAt(target, agent);
  expect(status, JSON.stringify(body)).toBe(402);
  await ground.pay(agent, amount, memoOf(body.quote));
  ground.chain.chain.advance(40);
}

const balance = () => ground.postgres.ledger.balance(agent.accountId);
const others = (than: Instance) => [...running].filter((each) => each !== than);

/** The deposit exists and is recorded once. */
async function expectCreditedOnce(amount: bigint, among: Iterable<Instance>): Promise<void> {
  await expect.poll(balance, { interval: 200 }).toBe(amount);
  const credited = await Promise.all(
    [...among].map((each) => figureOf(each.metricsAddress, "toolgate_payments_credited_total")),
  );
  expect(credited.reduce((sum: number, count) => sum + (count ?? 0), 0)).toBeGreaterThan(0);
  const paid = await callAt([...among][0] as Instance, agent);
  expect(paid.body.receipt?.paid_by, JSON.stringify(paid.body)).toBe("balance");
  expect(await balance()).toBe(amount - PRICE);
}

describe("the treasury leader of three instances", () => {
  it("is replaced when stalled; it stops leading on resume, and nothing happens twice", async () => {
    const stalled = await leader();
    const rest = others(stalled);
    stalled.signal("SIGSTOP");
    await deposit(rest[0] as Instance, 5_000n);
    const next = await leader(rest);
    await expectCreditedOnce(5_000n, rest);
    stalled.signal("SIGCONT");
    await expect.poll(() => leaders(running), { interval: 200 }).toEqual([next]);
    await expect.poll(() => stalled.log()).toContain("lost treasury leadership");
    expect(await balance()).toBe(5_000n - PRICE);
  });

  it("resigns on SIGTERM, so that another instance takes over at once", async () => {
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

  it("is replaced when killed; a deposit made meanwhile is credited once", async () => {
    const crashing = await leader();
    const rest = others(crashing);
    crashing.signal("SIGKILL");
    running.delete(crashing);
    await deposit(rest[0] as Instance, 5_000n);
    await leader(rest);
    await expectCreditedOnce(5_000n, rest);
  });
});
