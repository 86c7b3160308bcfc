import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startModelServer, type ModelServer } from "../../support/model-server.ts";
import { request, type Agent, type World } from "../../support/world.ts";
import { expectAccount, expectRefused, PARAMS, startScene, TOOL } from "../scene.ts";
import { CHAT, chat, expectChatBought, payChat, statusesOfRuns, type PaidChat } from "./chat.ts";

/**
 * A tool that fails, or waits, after its call was paid: nothing is charged, and the retry needs no second
 * payment.
 */
let world: World;
let model: ModelServer;
let agent: Agent;
let paid: PaidChat;
beforeAll(async () => {
  model = await startModelServer();
  world = await startScene({ INFERENCE_BASE_URL: model.url });
});
beforeEach(async () => {
  agent = await world.agent();
  paid = await payChat(world, agent);
});
afterEach(async () => {
  model.status = 200;
  model.waits = undefined;
  expect(await world.violations()).toEqual([]);
});
afterAll(async () => {
  await world.close();
  model.close();
});

/** The paid call with the key `k`, whose tool fails. */
async function failOnce(extra: object = { idempotency_key: "k" }): Promise<void> {
  model.status = 500;
  const failed = await chat(world, agent, { headers: paid.headers, body: extra });
  expectRefused(
    failed,
    /nothing was charged; your payment is on your balance, and the same call with the same proof uses it/,
    "TOOL_FAILED",
    500,
  );
  model.status = 200;
  await expectAccount(world, agent, { balance: paid.price, receipts: 0 });
}

async function deposit(amount: bigint): Promise<void> {
  const { accountId } = agent;
  await world.postgres.accounts.adjust({ accountId, amount, reason: "test", idempotencyKey: accountId });
}

describe("a tool that fails after the payment", () => {
  it("keeps the money on the balance, records a failed run without a receipt and says so", async () => {
    await failOnce();
    const { body } = await world.get(agent, "/runs");
    expect(body.items).toMatchObject([
      { status: "failed", spent_usdc_microusd: 0, receipt_id: null, error: { code: "TOOL_FAILED" } },
    ]);
  });

  it.each([
    ["by its key", () => ({ body: { idempotency_key: "k" } })],
    ["by its proof", () => ({ headers: paid.headers })],
    ["by both", () => ({ headers: paid.headers, body: { idempotency_key: "k" } })],
    ["by its proof under a new key", () => ({ headers: paid.headers, body: { idempotency_key: "k2" } })],
  ])("runs the call again %s, charges once, and then replays it by key and by proof", async (_name, how) => {
    await failOnce();
    const retried = await chat(world, agent, how());
    expect(retried.status, JSON.stringify(retried.body)).toBe(200);
    expect(retried.body.receipt.debited_usdc_microusd).toBe(Number(paid.price));
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
    for (const again of [
      how(),
      { headers: paid.headers },
      { headers: paid.headers, body: { idempotency_key: "k" } },
    ])
      expect((await chat(world, agent, again)).body).toEqual(retried.body);
    expect((await chat(world, agent, { body: { idempotency_key: "k" } })).body).toEqual(retried.body);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
    expect(await statusesOfRuns(world, agent)).toEqual(["completed", "failed"]);
  });

  it("identifies one call by key and by proof, in any order", async () => {
    await failOnce();
    model.status = 500;
    for (const how of [
      { headers: paid.headers },
      { body: { idempotency_key: "k" } },
      { headers: paid.headers },
    ])
      expect((await chat(world, agent, how)).body.code).toBe("TOOL_FAILED");
    model.status = 200;
    const gate = Promise.withResolvers<void>();
    model.waits = gate.promise;
    const running = chat(world, agent, { headers: paid.headers });
    await expect.poll(async () => (await statusesOfRuns(world, agent))[0]).toBe("active");
    const early = await chat(world, agent, { body: { idempotency_key: "k" } });
    expect(early.body.code, "and no second quote").toBe("REQUEST_IN_PROGRESS");
    gate.resolve();
    const bought = await running;
    expectChatBought(bought, paid);
    await deposit(10n * paid.price);
    for (const how of [{ body: { idempotency_key: "k" } }, { headers: paid.headers }])
      expect((await chat(world, agent, how)).body).toEqual(bought.body);
    await expectAccount(world, agent, { balance: 10n * paid.price, receipts: 1 });
  });

  it("treats a call without key and proof as new, paid from the balance; the spent proof is refused", async () => {
    await failOnce();
    const bought = await chat(world, agent);
    expect(bought.body.receipt).toMatchObject({ paid_by: "balance", tx_signature: null });
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
    for (const body of [{}, { idempotency_key: "k" }])
      expectRefused(
        await chat(world, agent, { headers: paid.headers, body }),
        /was credited to your balance, but other calls .* have used it: the balance is \$0\.00 and this call costs/,
      );
    expect((await chat(world, agent, { body: { idempotency_key: "k" } })).body.code).toBe("PAYMENT_REQUIRED");
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });

  it("charges a call that fails repeatedly only when it succeeds", async () => {
    for (const _ of [1, 2, 3]) await failOnce();
    expectChatBought(await chat(world, agent, { headers: paid.headers }), paid);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
    expect(await statusesOfRuns(world, agent)).toEqual(["completed", "failed", "failed", "failed"]);
  });

  it("binds the key and the proof to their call", async () => {
    await failOnce();
    const others = { ...CHAT.params, max_tokens: 11 };
    expectRefused(
      await world.call(agent, CHAT.tool, others, { body: { idempotency_key: "k" } }),
      /^idempotency_key: was used with another tool or other params/,
      "IDEMPOTENCY_MISMATCH",
      422,
    );
    expectRefused(
      await world.call(agent, CHAT.tool, others, { headers: paid.headers }),
      /used for another call/,
    );
    expectRefused(await world.call(agent, TOOL, PARAMS, { headers: paid.headers }), /used for another call/);
    await expectAccount(world, agent, { balance: paid.price, receipts: 0 });
    expectChatBought(await chat(world, agent, { headers: paid.headers }), paid);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });

  it("keeps the quoted price when the instance's price has changed", async () => {
    const folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-prices-"));
    try {
      await failOnce();
      const file = path.join(folder, "dearer.json");
      const costlier = { input_usd_per_million: 50, output_usd_per_million: 150 };
      const limits = { context_length: 8192, max_output_tokens: 1024 };
      await writeFile(file, JSON.stringify({ inference: { default_model: { ...costlier, ...limits } } }));
      const repriced = await world.startAnother({ TOOLGATE_CONFIG: file });
      const init = { method: "POST", body: JSON.stringify(CHAT) };
      const offered = await request(repriced, await world.agent(), "/v1/mcp/tools/call", init);
      expect(offered.body.quote.price_usdc_microusd).toBeGreaterThan(Number(paid.price) * 50);
      expectChatBought(await request(repriced, agent, "/v1/mcp/tools/call", init, paid.headers), paid);
      await expectAccount(world, agent, { balance: 0n, receipts: 1 });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("keeps an overpayment on the balance when the tool fails", async () => {
    const payer = await world.agent();
    const more = await payChat(world, payer, 77n);
    model.status = 500;
    expect((await chat(world, payer, { headers: more.headers })).body.code).toBe("TOOL_FAILED");
    model.status = 200;
    await expectAccount(world, payer, { balance: more.price + 77n, receipts: 0 });
    expectChatBought(await chat(world, payer, { headers: more.headers }), more);
    await expectAccount(world, payer, { balance: 77n, receipts: 1 });
  });
});

describe("a busy model server", () => {
  it("returns UNAVAILABLE with a retry delay, charges nothing, and accepts the proof later", async () => {
    model.status = 429;
    const busy = await chat(world, agent, { headers: paid.headers });
    expectRefused(busy, /nothing was charged, .*your payment is on your balance/, "UNAVAILABLE", 503);
    expect(Number(busy.headers.get("retry-after"))).toBeGreaterThan(0);
    model.status = 200;
    await expectAccount(world, agent, { balance: paid.price, receipts: 0 });
    await expect
      .poll(async () => (await chat(world, agent, { headers: paid.headers })).status, {
        interval: 200,
      })
      .toBe(200);
    expectChatBought(await chat(world, agent, { headers: paid.headers }), paid);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });
});

describe("a retry while the call runs", () => {
  it("returns REQUEST_IN_PROGRESS by proof, by key and by both, and the result afterwards", async () => {
    const gate = Promise.withResolvers<void>();
    model.waits = gate.promise;
    const first = chat(world, agent, { headers: paid.headers, body: { idempotency_key: "k" } });
    await expect.poll(() => statusesOfRuns(world, agent)).toEqual(["active"]);
    await expectAccount(world, agent, { balance: 0n, receipts: 0 });
    const ways = [
      { headers: paid.headers },
      { body: { idempotency_key: "k" } },
      { headers: paid.headers, body: { idempotency_key: "k" } },
      { headers: paid.headers, body: { idempotency_key: "another" } },
    ];
    for (const way of ways) {
      const early = await chat(world, agent, way);
      expectRefused(early, /the same call is running; repeat it shortly/, "REQUEST_IN_PROGRESS", 409);
      expect(early.headers.get("retry-after")).toBe("1");
    }
    gate.resolve();
    const bought = await first;
    expectChatBought(bought, paid);
    for (const way of ways) expect((await chat(world, agent, way)).body).toEqual(bought.body);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
    expect(await statusesOfRuns(world, agent)).toEqual(["completed"]);
  });
});
