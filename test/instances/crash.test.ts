import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { request, startGround, type Agent, type Answer, type Ground } from "../support/world.ts";
import { figureOf } from "../crediting/fixture.ts";
import { callAt, expectAccount, expectCleanAudit, payQuote, type Target } from "./calls.ts";
import { Instances, type Instance } from "./process.ts";
import { CHAT, slowModel, type SlowModel } from "./slow-model.ts";

/** Instances that die, stall or stop during a paid call, next to a surviving one. */
const LEASE_MS = 1_000;
const GRACE_MS = 3_000;
let ground: Ground;
let model: SlowModel;
let settings: Record<string, string>;
let survivor: Instance;
let doomed: Instance;
let ended = true;
let agent: Agent;
const instances = new Instances();
beforeAll(async () => {
  [ground, model] = await Promise.all([startGround(), slowModel()]);
  settings = {
    ...ground.settings,
    ...model.settings,
    RUN_LEASE_MS: String(LEASE_MS),
    SHUTDOWN_GRACE_MS: String(GRACE_MS),
    METRICS_PORT: "0",
  };
  survivor = await instances.serve(settings);
});
beforeEach(async () => {
  agent = await ground.agent();
  // A stalled instance resumes and is reused by the next test.
  if (!ended) return;
  doomed = await instances.serve(settings);
  ended = false;
  void doomed.ended.then(() => (ended = true));
});
afterEach(() => model.letGo());
afterAll(async () => {
  try {
    await expectCleanAudit(ground.settings);
  } finally {
    await instances.close();
    await ground.close();
    await model[Symbol.asyncDispose]();
  }
});

interface Started {
  headers: Record<string, string>;
  price: bigint;
  /** The response to the caller of the doomed instance; undefined when the connection breaks. */
  answer: Promise<Answer | undefined>;
}

/** Pays for the slow call and starts it at the doomed instance. Returns once the model was queried. */
async function beginSlowCall(key?: string): Promise<Started> {
  const { headers, price } = await payQuote(ground, doomed, agent, CHAT);
  model.holdBack();
  const asked = model.asked();
  const answer = callAt(doomed, agent, { ...CHAT, headers, ...(key !== undefined && { key }) }).catch(
    () => undefined,
  );
  await expect.poll(() => model.asked()).toBe(asked + 1);
  return { headers, price, answer };
}

async function statusesOfRuns(target: Target): Promise<string[]> {
  const { body } = await request(target, agent, "/runs", { method: "GET" });
  return body.items.map(({ status }: { status: string }) => status);
}

/** Retries at the surviving instance: 409 while the lease lasts, then the result. */
async function retryUntilBought(headers: Record<string, string>, key?: string): Promise<Answer> {
  let last: Answer | undefined;
  await expect
    .poll(
      async () => {
        last = await callAt(survivor, agent, { ...CHAT, headers, ...(key !== undefined && { key }) });
        expect([200, 409], JSON.stringify(last.body)).toContain(last.status);
        return last.status;
      },
      { interval: 100 },
    )
    .toBe(200);
  if (!last) throw new Error("there was an answer");
  return last;
}

describe("an instance killed during a paid call", () => {
  it.each([
    ["under a key", "slow"],
    ["under its proof alone", undefined],
  ])("leaves the call to a retry elsewhere: %s", async (_name, key) => {
    const { headers, answer } = await beginSlowCall(key);
    const early = await callAt(survivor, agent, { ...CHAT, headers, ...(key !== undefined && { key }) });
    expect(early.status).toBe(409);
    expect(early.headers.get("retry-after")).toBe("1");
    doomed.signal("SIGKILL");
    await doomed.ended;
    expect(await answer).toBeUndefined();
    model.letGo();
    const bought = await retryUntilBought(headers, key);
    expect(bought.body.receipt.paid_by).toBe("transfer");
    await expectAccount(survivor, agent, { balance: 0n, receipts: 1 });
    expect((await callAt(survivor, agent, { ...CHAT, headers })).body).toEqual(bought.body);
    expect(await statusesOfRuns(survivor)).toEqual(["completed", "failed"]);
    await expectAccount(survivor, agent, { balance: 0n, receipts: 1 });
  });

  it("refunds a caller that does not retry, and counts the release", async () => {
    const released = () => figureOf(survivor.metricsAddress, "toolgate_runs_released_total");
    const before = (await released()) ?? 0;
    const { price } = await beginSlowCall();
    doomed.signal("SIGKILL");
    await doomed.ended;
    await expect.poll(() => statusesOfRuns(survivor), { interval: 100 }).toEqual(["failed"]);
    await expectAccount(survivor, agent, { balance: price, receipts: 0 });
    expect(await released()).toBe(before + 1);
  });
});

describe("an instance stalled beyond its lease", () => {
  it("does not charge what another instance has charged", async () => {
    const { headers, answer } = await beginSlowCall("stalled");
    doomed.signal("SIGSTOP");
    await expect.poll(() => statusesOfRuns(survivor), { interval: 100 }).toEqual(["failed"]);
    model.letGo();
    const bought = await retryUntilBought(headers, "stalled");
    doomed.signal("SIGCONT");
    const late = await answer;
    expect(late?.status).toBe(503);
    expect(late?.body.code).toBe("UNAVAILABLE");
    expect(late?.body.message).toMatch(/outlived its lease.*nothing was charged, repeat the call/);
    expect((await callAt(doomed, agent, { ...CHAT, headers, key: "stalled" })).body).toEqual(bought.body);
    await expectAccount(doomed, agent, { balance: 0n, receipts: 1 });
  });

  it("charges nothing for a released run, even without a retry; a retry at the same instance works", async () => {
    const { headers, price, answer } = await beginSlowCall();
    doomed.signal("SIGSTOP");
    await expect.poll(() => statusesOfRuns(survivor), { interval: 100 }).toEqual(["failed"]);
    await expectAccount(survivor, agent, { balance: price, receipts: 0 });
    model.letGo();
    doomed.signal("SIGCONT");
    expect((await answer)?.status).toBe(503);
    await expectAccount(survivor, agent, { balance: price, receipts: 0 });
    expect((await callAt(doomed, agent, { ...CHAT, headers })).status).toBe(200);
    await expectAccount(survivor, agent, { balance: 0n, receipts: 1 });
  });

  it("keeps the run of a slow tool while the instance lives", async () => {
    const { answer } = await beginSlowCall();
    const since = performance.now();
    await expect.poll(() => performance.now() - since, { interval: 100 }).toBeGreaterThan(2.5 * LEASE_MS);
    expect(await statusesOfRuns(survivor)).toEqual(["active"]);
    model.letGo();
    expect((await answer)?.status).toBe(200);
    await expectAccount(survivor, agent, { balance: 0n, receipts: 1 });
  });
});

describe("an instance that receives SIGTERM", () => {
  const isOpen = () =>
    fetch(`${doomed.baseUrl}/health`, { headers: { connection: "close" } }).then(
      () => true,
      () => false,
    );

  it("accepts no connections, finishes the running paid call, exits with 0 and logs no secret", async () => {
    const { headers, answer } = await beginSlowCall();
    doomed.signal("SIGTERM");
    await expect.poll(isOpen, { interval: 20 }).toBe(false);
    model.letGo();
    const finished = await answer;
    expect(finished?.status, JSON.stringify(finished?.body)).toBe(200);
    expect(finished?.body.receipt.paid_by).toBe("transfer");
    const since = performance.now();
    expect(await doomed.ended).toBe(0);
    expect(performance.now() - since, "nothing is waited for").toBeLessThan(GRACE_MS / 2);
    await expectAccount(survivor, agent, { balance: 0n, receipts: 1 });
    expect(doomed.log()).toContain("stopped");
    const password = new URL(ground.database.url).password;
    for (const secret of [agent.apiKey, headers["X-Payment"] ?? "-", password])
      expect(doomed.log()).not.toContain(secret);
  });

  it("aborts a call that exceeds the grace period, charges nothing and exits with 0", async () => {
    const { headers, price, answer } = await beginSlowCall("aborted");
    doomed.signal("SIGTERM");
    expect(await doomed.ended).toBe(0);
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
