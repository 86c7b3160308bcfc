import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startGround, xPayment, type Agent, type Answer, type Ground } from "../support/world.ts";
import { callAt, expectAccount, expectCleanAudit, payQuote, PRICE, type Call } from "./calls.ts";
import { Instances, type Instance } from "./process.ts";

/** Three processes on one database and chain, indistinguishable to callers. */
let ground: Ground;
let three: Instance[];
const instances = new Instances();
beforeAll(async () => {
  ground = await startGround();
  three = await Promise.all(Array.from({ length: 3 }, () => instances.serve(ground.settings)));
});
afterAll(async () => {
  try {
    await expectCleanAudit(ground.settings);
  } finally {
    await instances.close();
    await ground.close();
  }
});

/** Sends the same call many times at once, alternating instances. */
function atAll(count: number, agent: Agent, call: (n: number) => Call): Promise<Answer[]> {
  return Promise.all(Array.from({ length: count }, (_, n) => callAt(three[n % 3]!, agent, call(n))));
}

const of = (answers: readonly Answer[], status: number) =>
  answers.filter((answer) => answer.status === status);
const receiptsIn = (answers: readonly Answer[]) =>
  new Set(of(answers, 200).map(({ body }) => body.receipt.receipt_id));

describe("three instances on one database", () => {
  it("charge 60 retries with one proof once and return the same result", async () => {
    const agent = await ground.agent();
    const { headers } = await payQuote(ground, three[0]!, agent);
    const answers = await atAll(60, agent, () => ({ headers }));
    expect(receiptsIn(answers).size).toBe(1);
    for (const { body } of of(answers, 200)) expect(body).toEqual(of(answers, 200)[0]?.body);
    expect(of(answers, 200).length + of(answers, 409).length).toBe(60);
    const again = await atAll(6, agent, () => ({ headers }));
    expect(of(again, 200)).toHaveLength(6);
    expect(receiptsIn(again)).toEqual(receiptsIn(answers));
    await expectAccount(three[1]!, agent, { balance: 0n, receipts: 1 });
  });

  it("charge 60 retries with one proof under five keys once", async () => {
    const agent = await ground.agent();
    const { headers } = await payQuote(ground, three[2]!, agent);
    const answers = await atAll(60, agent, (n) => ({ headers, key: `k${n % 5}` }));
    expect(receiptsIn(answers).size).toBe(1);
    expect(of(answers, 200).length + of(answers, 409).length).toBe(60);
    await expectAccount(three[0]!, agent, { balance: 0n, receipts: 1 });
  });

  it("credit one insufficient transaction once when it is sent to all of them at once", async () => {
    const agent = await ground.agent();
    const { body } = await callAt(three[0]!, agent);
    const tx = await ground.pay(agent, PRICE - 1n, `svc:${body.quote.quote_id}`);
    const headers = xPayment(tx, body.quote.quote_id);
    const answers = await atAll(30, agent, () => ({ headers }));
    expect(of(answers, 402)).toHaveLength(30);
    for (const answer of answers) expect(answer.body.code).toBe("INVALID_PAYMENT");
    await expectAccount(three[2]!, agent, { balance: PRICE - 1n, receipts: 0 });
  });

  it("sell exactly seven of 200 calls to a balance for seven", async () => {
    const agent = await ground.agent({ balance: 7n * PRICE + 999n });
    const answers = await atAll(200, agent, () => ({}));
    expect(of(answers, 200)).toHaveLength(7);
    expect(receiptsIn(answers).size).toBe(7);
    expect(of(answers, 402)).toHaveLength(193);
    for (const { body } of of(answers, 402)) expect(body.code).toBe("PAYMENT_REQUIRED");
    await expectAccount(three[0]!, agent, { balance: 999n, receipts: 7 });
  });

  it("allow exactly the burst of ten among 60 concurrent calls", async () => {
    const agent = await ground.agent({ ratePerMinute: 60, burst: 10 });
    const began = performance.now();
    const answers = await atAll(60, agent, () => ({ tool: "echo", params: { message: "" } }));
    // A token returns every second.
    const refilled = Math.ceil((performance.now() - began) / 1_000);
    expect(of(answers, 200).length).toBeGreaterThanOrEqual(10);
    expect(of(answers, 200).length).toBeLessThanOrEqual(10 + refilled);
    expect(of(answers, 200).length + of(answers, 429).length).toBe(60);
  });

  it("allow the account's burst among 60 concurrent calls with all its keys, and name the limit", async () => {
    const agent = await ground.agent({ ratePerMinute: 60, burst: 10 });
    await ground.postgres.accounts.setTier(agent.accountId, { accountRatePerMinute: 30, accountBurst: 15 });
    const { accountId } = agent;
    const keys = await Promise.all(
      Array.from({ length: 12 }, () => ground.postgres.apiKeys.create({ accountId, name: "", scopes: [] })),
    );
    const began = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        callAt(
          three[n % 3]!,
          { ...agent, apiKey: keys[n % 12]!.secret },
          { tool: "echo", params: { message: "" } },
        ),
      ),
    );
    const refilled = Math.ceil((performance.now() - began) / 2_000);
    expect(of(answers, 200).length).toBeGreaterThanOrEqual(15);
    expect(of(answers, 200).length).toBeLessThanOrEqual(15 + refilled);
    const [passed, refused] = [of(answers, 200)[0]!, of(answers, 429)[0]!];
    expect(of(answers, 429)).toHaveLength(60 - of(answers, 200).length);
    expect(passed.headers.get("x-ratelimit-limit")).toBe("60");
    expect(refused.headers.get("x-ratelimit-limit")).toBe("30");
    expect(refused.body).toMatchObject({
      code: "RATE_LIMITED",
      message: expect.stringMatching(
        /^too many requests with all API keys of the account together \(30 per minute\)/,
      ),
      retry_after_seconds: expect.any(Number),
    });
  });

  it("all reject a revoked key long before their copies expire", async () => {
    const agent = await ground.agent();
    const echo = { tool: "echo", params: { message: "" } };
    for (const instance of three) expect((await callAt(instance, agent, echo)).status).toBe(200);
    await ground.postgres.apiKeys.revoke(agent.keyId);
    await Promise.all(
      three.map((instance) =>
        expect
          .poll(async () => (await callAt(instance, agent, echo)).status, { timeout: 15_000, interval: 25 })
          .toBe(401),
      ),
    );
  });
});
