import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { useModelServer } from "../../support/use-world.ts";
import { request } from "../../support/world.ts";
import { expectRefused, useScene, type Extra } from "../scene.ts";
import { CHAT, ChatBuyer } from "./chat.ts";

/**
 * A tool that fails, or waits, after its call was paid: nothing is charged, and the retry needs no second
 * payment.
 */
const model = useModelServer();
const world = useScene(() => ({ INFERENCE_BASE_URL: model.url }));
const KEY = { idempotency_key: "k" };
let paid: ChatBuyer;
/** The ways to name the call. */
let byKey: Extra;
let byProof: Extra;
let byBoth: Extra;
beforeEach(async () => {
  paid = await ChatBuyer.pay(world);
  byKey = { body: KEY };
  byProof = { headers: paid.headers };
  byBoth = { ...byKey, ...byProof };
});

/** The paid call with the key, whose tool fails. */
async function failOnce(): Promise<void> {
  model.status = 500;
  expectRefused(
    await paid.chat(byBoth),
    /nothing was charged; your payment is on your balance, and the same call with the same proof uses it/,
    "TOOL_FAILED",
    500,
  );
  model.status = 200;
  await paid.expectAccount(paid.price, 0);
}

describe("a tool that fails after the payment", () => {
  it("keeps the money on the balance, records a failed run without a receipt and says so", async () => {
    await failOnce();
    const { body } = await world.get(paid.agent, "/runs");
    const failed = {
      status: "failed",
      spent_usdc_microusd: 0,
      receipt_id: null,
      error: { code: "TOOL_FAILED" },
    };
    expect(body.items).toMatchObject([failed]);
  });

  it.each([
    ["by its key", () => byKey],
    ["by its proof", () => byProof],
    ["by both", () => byBoth],
    ["by its proof under a new key", () => ({ ...byProof, body: { idempotency_key: "k2" } })],
  ])("runs the call again %s, charges once, and then replays it by key and by proof", async (_name, how) => {
    await failOnce();
    const retried = await paid.chat(how());
    expect(retried.status, JSON.stringify(retried.body)).toBe(200);
    expect(retried.body.receipt.debited_usdc_microusd).toBe(Number(paid.price));
    await paid.expectOneCall();
    for (const again of [how(), byProof, byBoth, byKey])
      expect((await paid.chat(again)).body).toEqual(retried.body);
    await paid.expectOneCall();
    expect(await paid.runs()).toEqual(["completed", "failed"]);
  });

  it("is a result over MCP, whose sessions end over HTTP 500, and the same call with the key runs again", async () => {
    const params = { name: CHAT.tool, arguments: CHAT.params, _meta: { "toolgate/idempotency_key": "k" } };
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    const call = () => world.post(paid.agent, "/mcp", message, paid.headers);
    model.status = 500;
    const failed = await call();
    expect([failed.status, failed.body.result]).toMatchObject([
      200,
      {
        isError: true,
        content: [{ type: "text", text: expect.stringContaining("nothing was charged; your payment is on") }],
        _meta: { "toolgate/error": { code: "TOOL_FAILED" } },
      },
    ]);
    model.status = 200;
    await paid.expectAccount(paid.price, 0);
    expect((await call()).body.result.isError).toBe(false);
    await paid.expectOneCall();
  });

  it("identifies one call by key and by proof, in any order", async () => {
    await failOnce();
    model.status = 500;
    for (const how of [byProof, byKey, byProof]) expect((await paid.chat(how)).body.code).toBe("TOOL_FAILED");
    model.status = 200;
    const gate = Promise.withResolvers<void>();
    model.waits = gate.promise;
    const running = paid.proved();
    await expect.poll(async () => (await paid.runs())[0]).toBe("active");
    expect((await paid.chat(byKey)).body.code, "and no second quote").toBe("REQUEST_IN_PROGRESS");
    gate.resolve();
    const bought = await running;
    paid.expectChatBought(bought);
    await paid.deposit(10n * paid.price);
    for (const how of [byKey, byProof]) expect((await paid.chat(how)).body).toEqual(bought.body);
    await paid.expectAccount(10n * paid.price, 1);
  });

  it("treats a call without key and proof as new, paid from the balance; the spent proof is refused", async () => {
    await failOnce();
    const bought = await paid.chat();
    expect(bought.body.receipt).toMatchObject({ paid_by: "balance", tx_signature: null });
    await paid.expectOneCall();
    const spent =
      /was credited to your balance, but other calls .* have used it: the balance is \$0\.00 and this call costs/;
    for (const how of [byProof, byBoth]) expectRefused(await paid.chat(how), spent);
    expect((await paid.chat(byKey)).body.code).toBe("PAYMENT_REQUIRED");
    await paid.expectOneCall();
  });

  it("charges a call that fails repeatedly only when it succeeds", async () => {
    for (const _ of [1, 2, 3]) await failOnce();
    paid.expectChatBought(await paid.proved());
    await paid.expectOneCall();
    expect(await paid.runs()).toEqual(["completed", "failed", "failed", "failed"]);
  });

  it("binds the key and the proof to their call", async () => {
    await failOnce();
    const other = (extra: Extra) =>
      world.call(paid.agent, CHAT.tool, { ...CHAT.params, max_tokens: 11 }, extra);
    const mismatch = /^idempotency_key: was used with another tool or other params/;
    expectRefused(await other(byKey), mismatch, "IDEMPOTENCY_MISMATCH", 422);
    for (const answer of [await other(byProof), await paid.call(byProof)])
      expectRefused(answer, /used for another call/);
    await paid.expectAccount(paid.price, 0);
    paid.expectChatBought(await paid.proved());
    await paid.expectOneCall();
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
      paid.expectChatBought(await request(repriced, paid.agent, "/v1/mcp/tools/call", init, paid.headers));
      await paid.expectOneCall();
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("keeps an overpayment on the balance when the tool fails", async () => {
    const more = await ChatBuyer.pay(world, undefined, 77n);
    model.status = 500;
    expect((await more.proved()).body.code).toBe("TOOL_FAILED");
    model.status = 200;
    await more.expectAccount(more.price + 77n, 0);
    more.expectChatBought(await more.proved());
    await more.expectAccount(77n, 1);
  });
});

describe("a busy model server", () => {
  it("returns UNAVAILABLE with a retry delay, charges nothing, and accepts the proof later", async () => {
    model.status = 429;
    const busy = await paid.proved();
    expectRefused(busy, /nothing was charged, .*your payment is on your balance/, "UNAVAILABLE", 429);
    expect(Number(busy.headers.get("retry-after"))).toBeGreaterThan(0);
    model.status = 200;
    await paid.expectAccount(paid.price, 0);
    await expect.poll(async () => (await paid.proved()).status, { interval: 200 }).toBe(200);
    paid.expectChatBought(await paid.proved());
    await paid.expectOneCall();
  });
});

describe("a retry while the call runs", () => {
  it("returns REQUEST_IN_PROGRESS by proof, by key and by both, and the result afterwards", async () => {
    const gate = Promise.withResolvers<void>();
    model.waits = gate.promise;
    const first = paid.chat(byBoth);
    await expect.poll(() => paid.runs()).toEqual(["active"]);
    await paid.expectNothing();
    const ways = [byProof, byKey, byBoth, { ...byProof, body: { idempotency_key: "another" } }];
    for (const way of ways) {
      const early = await paid.chat(way);
      expectRefused(early, /the same call is running; repeat it shortly/, "REQUEST_IN_PROGRESS", 409);
      expect(early.headers.get("retry-after")).toBe("1");
    }
    gate.resolve();
    const bought = await first;
    paid.expectChatBought(bought);
    for (const way of ways) expect((await paid.chat(way)).body).toEqual(bought.body);
    await paid.expectOneCall();
    expect(await paid.runs()).toEqual(["completed"]);
  });
});
