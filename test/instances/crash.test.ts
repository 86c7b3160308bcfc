import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { request, type Agent, type Answer } from "../support/world.ts";
import { figureOf } from "../crediting/fixture.ts";
import { callAt, expectAccount, payQuote, type Target, openGround } from "./calls.ts";
import type { Instance } from "./process.ts";
import { CHAT, slowModel } from "./slow-model.ts";

/** Instances that die, stall or stop during a paid call, next to a surviving one. */
const LEASE_MS = 1_000;
const model = await slowModel();
const { ground, instances, serveHere } = await openGround();
const settings = {
  ...ground.settings,
  ...model.settings,
  RUN_LEASE_MS: String(LEASE_MS),
  METRICS_PORT: "0",
};
const survivor = await serveHere(settings);
let crashing: Instance;
let ended = true;
let agent: Agent;

beforeEach(async () => {
  agent = await ground.agent();
});
afterEach(() => model.letGo());

/** Starts it, unless it still runs. By default it waits for its calls alone, or it would not end. */
async function serveCrashing(SHUTDOWN_GRACE_MS = "600000"): Promise<void> {
  if (!ended) return;
  crashing = await instances.serve({ ...settings, SHUTDOWN_GRACE_MS });
  ended = false;
  void crashing.ended.then(() => (ended = true));
}

interface Started {
  headers: Record<string, string>;
  price: bigint;
  /** The response to the caller of the crashing instance; undefined when the connection breaks. */
  answer: Promise<Answer | undefined>;
}

/** Pays for the slow call and starts it at the crashing instance. Returns once the model was queried. */
async function beginSlowCall(key?: string, caller = agent): Promise<Started> {
  const { headers, price } = await payQuote(ground, crashing, caller, CHAT);
  model.holdBack();
  const asked = model.asked();
  const answer = callAt(crashing, caller, { ...CHAT, headers, ...(key !== undefined && { key }) }).catch(
    () => undefined,
  );
  await expect.poll(() => model.asked()).toBe(asked + 1);
  return { headers, price, answer };
}

async function statusesOfRuns(target: Target, caller = agent): Promise<string[]> {
  const { body } = await request(target, caller, "/runs", { method: "GET" });
  return body.items.map(({ status }: { status: string }) => status);
}

/** Retries at the surviving instance: 409 while the lease lasts, then the result. */
async function retryUntilBought(
  headers: Record<string, string>,
  key?: string,
  caller = agent,
): Promise<Answer> {
  let last: Answer | undefined;
  await expect
    .poll(
      async () => {
        last = await callAt(survivor, caller, { ...CHAT, headers, ...(key !== undefined && { key }) });
        expect([200, 409], JSON.stringify(last.body)).toContain(last.status);
        return last.status;
      },
      { interval: 100 },
    )
    .toBe(200);
  if (!last) throw new Error("there was an answer");
  return last;
}

describe("an instance stalled beyond its lease", () => {
  it("does not charge what another instance has charged", async () => {
    await serveCrashing();
    const { headers, answer } = await beginSlowCall("stalled");
    crashing.signal("SIGSTOP");
    await expect.poll(() => statusesOfRuns(survivor), { interval: 100 }).toEqual(["failed"]);
    model.letGo();
    const bought = await retryUntilBought(headers, "stalled");
    crashing.signal("SIGCONT");
    const late = await answer;
    expect(late?.status).toBe(503);
    expect(late?.body.code).toBe("UNAVAILABLE");
    expect(late?.body.message).toMatch(/outlived its lease.*nothing was charged, repeat the call/);
    expect((await callAt(crashing, agent, { ...CHAT, headers, key: "stalled" })).body).toEqual(bought.body);
    await expectAccount(crashing, agent, { balance: 0n, receipts: 1 });
  });
});

describe("an instance killed during a paid call", () => {
  it("leaves its calls to retries elsewhere, under a key or under a proof alone", async () => {
    await serveCrashing();
    const callers = await Promise.all(
      ["slow", undefined].map(async (key) => ({ key, by: await ground.agent() })),
    );
    const calls = [];
    for (const { key, by } of callers) calls.push({ key, by, ...(await beginSlowCall(key, by)) });
    for (const { key, by, headers } of calls) {
      const early = await callAt(survivor, by, { ...CHAT, headers, ...(key !== undefined && { key }) });
      expect(early.status).toBe(409);
      expect(early.headers.get("retry-after")).toBe("1");
    }
    crashing.signal("SIGKILL");
    await crashing.ended;
    expect(await Promise.all(calls.map(({ answer }) => answer))).toEqual([undefined, undefined]);
    model.letGo();
    for (const { key, by, headers } of calls) {
      const bought = await retryUntilBought(headers, key, by);
      expect(bought.body.receipt.paid_by).toBe("transfer");
      await expectAccount(survivor, by, { balance: 0n, receipts: 1 });
      expect((await callAt(survivor, by, { ...CHAT, headers })).body).toEqual(bought.body);
      expect(await statusesOfRuns(survivor, by)).toEqual(["completed", "failed"]);
      await expectAccount(survivor, by, { balance: 0n, receipts: 1 });
    }
  });

  it("refunds a caller that does not retry, and counts the release", async () => {
    const released = () => figureOf(survivor.metricsAddress, "toolgate_runs_released_total");
    const before = (await released()) ?? 0;
    await serveCrashing();
    const { price } = await beginSlowCall();
    crashing.signal("SIGKILL");
    await crashing.ended;
    await expect.poll(() => statusesOfRuns(survivor), { interval: 100 }).toEqual(["failed"]);
    await expectAccount(survivor, agent, { balance: price, receipts: 0 });
    await expect.poll(released).toBe(before + 1);
  });
});

describe("an instance that receives SIGTERM", () => {
  const isOpen = () =>
    fetch(`${crashing.baseUrl}/health`, { headers: { connection: "close" } }).then(
      () => true,
      () => false,
    );

  it("accepts no connections, finishes the running paid call, exits with 0 and logs no secret", async () => {
    await serveCrashing();
    const { headers, answer } = await beginSlowCall();
    crashing.signal("SIGTERM");
    await expect.poll(isOpen, { interval: 20 }).toBe(false);
    model.letGo();
    const finished = await answer;
    expect(finished?.status, JSON.stringify(finished?.body)).toBe(200);
    expect(finished?.body.receipt.paid_by).toBe("transfer");
    expect(await crashing.ended).toBe(0);
    await expectAccount(survivor, agent, { balance: 0n, receipts: 1 });
    await expect.poll(() => crashing.log()).toContain("stopped");
    const password = new URL(ground.database.url).password;
    for (const secret of [agent.apiKey, headers["X-Payment"] ?? "-", password])
      expect(crashing.log()).not.toContain(secret);
  });

  it("aborts a call that exceeds the grace period, charges nothing and exits with 0", async () => {
    await serveCrashing("3000");
    const { headers, price, answer } = await beginSlowCall("aborted");
    crashing.signal("SIGTERM");
    expect(await crashing.ended).toBe(0);
    const aborted = await answer;
    expect(aborted?.status).toBe(503);
    expect(aborted?.body).toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringMatching(/nothing was charged/),
    });
    expect(await statusesOfRuns(survivor)).toEqual(["failed"]);
    await expectAccount(survivor, agent, { balance: price, receipts: 0 });
    model.letGo();
    expect((await callAt(survivor, agent, { ...CHAT, headers, key: "aborted" })).status).toBe(200);
    await expectAccount(survivor, agent, { balance: 0n, receipts: 1 });
  });
});
