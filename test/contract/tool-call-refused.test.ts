import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type KeyLimits, NO_LIMITS } from "../../src/domain/accounts/budget.ts";
import { DEFAULT_SCOPES } from "../../src/domain/accounts/scope.ts";
import { startModelServer, type ModelServer } from "../support/model-server.ts";
import { memoOf, startWorld, xPayment, type Agent, type World } from "../support/world.ts";

/** POST /v1/mcp/tools/call (specification 4.1, 7): refusals by status. */

const PAID = { tool: "vram_estimate", params: { model: "llama-3.1-8b" } } as const;
const PRICE = 1000n;

let world: World;
let model: ModelServer;
let rich: Agent;
let poor: Agent;

beforeAll(async () => {
  model = await startModelServer();
  world = await startWorld({ INFERENCE_BASE_URL: model.url, BODY_LIMIT_BYTES: "65536" });
  [rich, poor] = await Promise.all([world.agent({ balance: 10_000_000n }), world.agent()]);
});
afterAll(async () => {
  expect(await world.violations()).toEqual([]);
  await world.close();
  model.close();
});

const chat = (content: string) => ({ model: "small", messages: [{ role: "user", content }], max_tokens: 10 });
const ask = () => world.call(poor, PAID.tool, PAID.params);
const balanceOf = async (agent: Agent) =>
  (await world.call(agent, "get_status", {})).body.result.balance_usdc;

/** Every error body has exactly these members (specification 7). */
function expectError(
  answer: { status: number; headers: Headers; body: Record<string, unknown> },
  status: number,
  code: string,
  message: RegExp,
): void {
  expect(answer.body).toEqual({
    code,
    message: expect.stringMatching(message),
    request_id: answer.headers.get("x-request-id"),
    ...("retry_after_seconds" in answer.body && {
      retry_after_seconds: Number(answer.headers.get("retry-after")),
    }),
    ...("limit" in answer.body && { limit: expect.any(Object) }),
  });
  expect(answer.status).toBe(status);
}

describe("a refused call: 400", () => {
  const bad: [string, object, RegExp][] = [
    ["no tool", { params: {} }, /^tool: /],
    ["no params", { tool: "echo" }, /^params: /],
    ["a tool that is no string", { tool: 1, params: {} }, /^tool: /],
    ["params that are no object", { tool: "echo", params: [] }, /^params: /],
    ["an unknown member", { tool: "echo", params: { message: "" }, extra: 1 }, /^extra: unknown/],
    ["an unknown parameter", { tool: "echo", params: { message: "", extra: 1 } }, /^params\.?.*extra/],
    ["a parameter of the wrong type", { tool: "echo", params: { message: 1 } }, /^params\.message: /],
    [
      "a parameter deep inside",
      {
        tool: "inference_chat",
        params: { model: "small", messages: [{ role: "user", content: "a" }, { role: "user" }] },
      },
      /^params\.messages\[1\]\.content: /,
    ],
    [
      "an unknown model",
      { tool: "inference_chat", params: { model: "big", messages: [{ role: "user", content: "a" }] } },
      /^params\.model: .*small/,
    ],
    ["stream", { tool: "inference_chat", params: { ...chat("x"), stream: true } }, /stream/],
    [
      "an empty idempotency key",
      { tool: "echo", params: { message: "" }, idempotency_key: "" },
      /^idempotency_key: /,
    ],
    [
      "an idempotency key of 256 characters",
      { tool: "echo", params: { message: "" }, idempotency_key: "k".repeat(256) },
      /^idempotency_key: /,
    ],
    [
      "a proof without its transaction",
      { ...PAID, payment_proof: { network: "solana-mainnet" } },
      /^payment_proof\.tx_ref: /,
    ],
    [
      "a proof with an unknown member",
      { ...PAID, payment_proof: { tx_ref: "x", network: "n", z: 1 } },
      /^payment_proof\.z: unknown/,
    ],
  ];
  it.each(bad)("returns 400 for %s", async (_, body, message) => {
    expectError(await world.post(rich, "/v1/mcp/tools/call", body), 400, "INVALID_REQUEST", message);
  });

  it("refuses different keys in header and body", async () => {
    const answer = await world.call(
      rich,
      "echo",
      { message: "" },
      { headers: { "Idempotency-Key": "a" }, body: { idempotency_key: "b" } },
    );
    expectError(answer, 400, "INVALID_REQUEST", /^idempotency_key: /);
  });

  it("refuses query parameters", async () => {
    expectError(
      await world.post(rich, "/v1/mcp/tools/call?x=1", { tool: "echo", params: {} }),
      400,
      "INVALID_REQUEST",
      /^x: /,
    );
  });

  it("returns INVALID_PAYMENT for an unreadable proof and consumes nothing", async () => {
    expectError(
      await world.call(poor, PAID.tool, PAID.params, { headers: { "X-Payment": "not base64!" } }),
      400,
      "INVALID_PAYMENT",
      /^X-Payment: /,
    );
    const proof = { tx_ref: "abc", network: "solana-mainnet", quote_id: "qt_x" };
    expectError(
      await world.call(poor, PAID.tool, PAID.params, { body: { payment_proof: proof } }),
      400,
      "INVALID_PAYMENT",
      /tx_ref/,
    );
  });
});

describe("a refused call: 401", () => {
  it("requires a valid key and says how to send it", async () => {
    const none = await world.post(undefined, "/v1/mcp/tools/call", { tool: "echo", params: {} });
    expectError(none, 401, "UNAUTHORIZED", /Authorization/);
    expect(none.headers.get("www-authenticate")).toMatch(/^Bearer/);
    for (const authorization of [
      "Bearer nope",
      "Bearer sk-agent-nope",
      `Basic ${rich.apiKey}`,
      `Bearer ${rich.apiKey}x`,
      "Bearer",
    ]) {
      expectError(
        await world.post(undefined, "/v1/mcp/tools/call", { tool: "echo", params: {} }, { authorization }),
        401,
        "UNAUTHORIZED",
        /key|Bearer/i,
      );
    }
  });

  it("refuses a revoked key long before copies of it expire", async () => {
    const agent = await world.agent();
    expect((await world.call(agent, "echo", { message: "" })).status).toBe(200);
    await world.postgres.apiKeys.revoke(agent.keyId);
    await expect
      .poll(async () => (await world.call(agent, "echo", { message: "" })).status, {
        timeout: 15_000,
        interval: 50,
      })
      .toBe(401);
  });

  it("reports a bad key before a bad body", async () => {
    expectError(
      await world.post(undefined, "/v1/mcp/tools/call", "nonsense"),
      401,
      "UNAUTHORIZED",
      /Authorization/,
    );
  });
});

describe("a refused call: 403", () => {
  it("names the scope that the key lacks", async () => {
    const agent = await world.agent({ scopes: ["billing:read"], balance: 5_000n });
    expectError(await world.call(agent, PAID.tool, PAID.params), 403, "FORBIDDEN", /compute:read/);
    expectError(await world.call(agent, "inference_chat", chat("x")), 403, "FORBIDDEN", /inference:write/);
    expect((await world.call(agent, "echo", { message: "free tools need no scope" })).status).toBe(200);
  });

  it("reports the missing scope before bad params", async () => {
    const agent = await world.agent({ scopes: [] });
    expectError(await world.call(agent, PAID.tool, { nonsense: 1 }), 403, "FORBIDDEN", /scope/);
  });
});

describe("limits of an API key", () => {
  const limits = NO_LIMITS;
  const limited = async ({ accountId, wallet }: Agent, change: Partial<KeyLimits>): Promise<Agent> => {
    const wanted = { accountId, name: "limited", scopes: DEFAULT_SCOPES, limits: { ...limits, ...change } };
    const { key, secret } = await world.postgres.apiKeys.create(wanted);
    return { accountId, wallet, keyId: key.keyId, apiKey: secret };
  };
  const estimate = (agent: Agent, extra?: Parameters<World["call"]>[3]) =>
    world.call(agent, PAID.tool, PAID.params, extra);

  it("name the allowed tools, also for free ones, before the params are checked", async () => {
    const agent = await limited(rich, { tools: new Set(["get_status", "inference_chat"]) });
    const refusal = /limited to the tools get_status, inference_chat; use a key that may call/;
    expectError(await estimate(agent), 403, "FORBIDDEN", refusal);
    expectError(await world.call(agent, "echo", { nonsense: 1 }), 403, "FORBIDDEN", refusal);
    expect((await world.call(agent, "get_status", {})).status).toBe(200);
    const listed = await world.post(agent, "/mcp", { jsonrpc: "2.0", id: 1, method: "tools/list" });
    expect(listed.body.result.tools.map(({ name }: { name: string }) => name)).toEqual([
      "get_status",
      "inference_chat",
    ]);
  });

  it("name the maximum price of a call, also with a proof, which stays unused", async () => {
    const [agent, free] = [await limited(poor, { perCall: PRICE - 1n }), poor];
    const refusal = /limited to \$0\.000999 a call, and this call of vram_estimate costs \$0\.001/;
    expectError(await estimate(agent), 403, "FORBIDDEN", refusal);
    const { body: offer } = await ask();
    const tx = await world.pay(poor, PRICE, memoOf(offer.quote));
    const proof = { headers: xPayment(tx, offer.quote.quote_id) };
    expectError(await estimate(agent, proof), 403, "FORBIDDEN", refusal);
    expect(await balanceOf(poor)).toBe("0.000000");
    expect((await estimate(free, proof)).body.receipt).toMatchObject({ tx_signature: tx });
    expect((await estimate(await limited(rich, { perCall: PRICE }))).status).toBe(200);
  });

  it("name today's spending and when the limit resets; stored answers and paid calls work", async () => {
    const agent = await limited(await world.agent({ balance: 10n * PRICE }), { perDay: 2n * PRICE });
    const first = await estimate(agent, { body: { idempotency_key: "first" } });
    expect([first.status, (await estimate(agent)).status]).toEqual([200, 200]);
    const over = await estimate(agent);
    expectError(
      over,
      403,
      "FORBIDDEN",
      /may take \$0\.002 a day from the balance, \$0\.002 is spent, and this call of vram_estimate costs \$0\.001: the limit resets at 00:00 UTC/,
    );
    expect(over.headers.get("payment-required")).toBeNull();
    expect(over.body.limit).toEqual({
      period: "day",
      limit_usdc_microusd: Number(2n * PRICE),
      spent_usdc_microusd: Number(2n * PRICE),
      remaining_usdc_microusd: 0,
      price_usdc_microusd: Number(PRICE),
      resets_at: expect.stringMatching(/T00:00:00Z$/),
    });
    const params = { name: PAID.tool, arguments: PAID.params };
    const overMcp = await world.post(agent, "/mcp", { jsonrpc: "2.0", id: 1, method: "tools/call", params });
    expect(JSON.stringify(overMcp.body)).toMatch(/limit_usdc_microusd[^}]*resets_at/);
    expect(await estimate(agent, { body: { idempotency_key: "first" } })).toMatchObject({ body: first.body });
    const poorer = await limited(poor, { perDay: 1n });
    expectError(
      await estimate(poorer),
      403,
      "FORBIDDEN",
      /may take \$0\.000001 a day.*: ask for less, or use a key/,
    );
    const { body: offer } = await ask();
    const tx = await world.pay(poor, PRICE, memoOf(offer.quote));
    expect((await estimate(poorer, { headers: xPayment(tx, offer.quote.quote_id) })).status).toBe(200);
  });

  it("end the key at its expiry, like a revocation", async () => {
    const agent = await limited(rich, { expiresAt: new Date(Date.now() + 1_500) });
    expect((await world.call(agent, "echo", { message: "" })).status).toBe(200);
    await expect
      .poll(async () => (await world.call(agent, "echo", { message: "" })).status, { interval: 100 })
      .toBe(401);
    expectError(
      await world.call(agent, "echo", { message: "" }),
      401,
      "UNAUTHORIZED",
      /unknown, has expired or was/,
    );
  });

  it("report the block instead when the account is blocked", async () => {
    const agent = await world.agent();
    expect((await world.call(agent, "echo", { message: "" })).status).toBe(200);
    await world.postgres.accounts.setBlocked(agent.accountId, {
      blocked: true,
      reason: "the wallet was stolen",
    });
    const status = async () => (await world.call(agent, "echo", { message: "" })).status;
    await expect.poll(status).toBe(403);
    const refused = await world.get(agent, "/receipts");
    expectError(
      refused,
      403,
      "FORBIDDEN",
      /^the account is blocked: the wallet was stolen\. Ask the operator$/,
    );
    expect(refused.headers.get("x-ratelimit-limit")).not.toBeNull();
    await world.postgres.accounts.setBlocked(agent.accountId, { blocked: false, reason: "found" });
    await expect.poll(status).toBe(200);
  });
});

describe("a refused call: 404", () => {
  it("returns TOOL_NOT_FOUND for unknown tools and quotes no unavailable tool", async () => {
    expectError(await world.call(rich, "teleport", {}), 404, "TOOL_NOT_FOUND", /teleport.*echo/);
    for (const tool of ["gpu_provision", "sandbox_execute", "sandbox_cancel"]) {
      expectError(await world.call(rich, tool, {}), 404, "TOOL_UNAVAILABLE", /cannot be called yet/);
    }
  });
});

describe("a refused call: 405", () => {
  it("lists the allowed methods of the path", async () => {
    const answer = await world.get(rich, "/v1/mcp/tools/call");
    expectError(answer, 405, "METHOD_NOT_ALLOWED", /POST/);
    expect(answer.headers.get("allow")).toBe("POST");
  });
});

describe("a refused call: 409 and 422", () => {
  it("reports a running call, and a key of another call", async () => {
    const agent = await world.agent({ balance: 1_000_000n });
    let go = () => {};
    model.waits = new Promise((resolve) => (go = resolve));
    const first = world.call(agent, "inference_chat", chat("slow"), { body: { idempotency_key: "slow" } });
    await expect.poll(async () => (await world.get(agent, "/runs?status=active")).body.items.length).toBe(1);
    const second = await world.call(agent, "inference_chat", chat("slow"), {
      body: { idempotency_key: "slow" },
    });
    expectError(second, 409, "REQUEST_IN_PROGRESS", /running/);
    expect(second.headers.get("retry-after")).toBe("1");
    const other = await world.call(agent, "inference_chat", chat("other"), {
      body: { idempotency_key: "slow" },
    });
    expectError(other, 422, "IDEMPOTENCY_MISMATCH", /idempotency_key/);
    go();
    model.waits = undefined;
    expect((await first).status).toBe(200);
    expectError(
      await world.call(agent, "echo", { message: "x" }, { body: { idempotency_key: "slow" } }),
      422,
      "IDEMPOTENCY_MISMATCH",
      /idempotency_key/,
    );
  });
});

describe("a refused call: 413 and 415", () => {
  it("refuses bodies over the limit, with and without Content-Length", async () => {
    const body = { tool: "echo", params: { message: "x".repeat(70_000) } };
    expectError(await world.post(rich, "/v1/mcp/tools/call", body), 413, "PAYLOAD_TOO_LARGE", /65536/);
    const response = await fetch(`${world.gateway.baseUrl}/v1/mcp/tools/call`, {
      method: "POST",
      headers: { Authorization: `Bearer ${rich.apiKey}`, "Content-Type": "application/json" },
      body: new Blob([JSON.stringify(body)]).stream(),
      duplex: "half",
    });
    expect(response.status).toBe(413);
  });

  it("refuses any content type but JSON", async () => {
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "application/json; charset=latin1",
      "multipart/form-data; boundary=x",
    ]) {
      expectError(
        await world.post(rich, "/v1/mcp/tools/call", {}, { "Content-Type": type }),
        415,
        "UNSUPPORTED_MEDIA_TYPE",
        /application\/json/,
      );
    }
    expect(
      (
        await world.post(
          rich,
          "/v1/mcp/tools/call",
          { tool: "echo", params: { message: "x" } },
          { "Content-Type": "application/json; charset=UTF-8" },
        )
      ).status,
    ).toBe(200);
  });
});

describe("a refused call: 429", () => {
  it("allows the burst, then returns a retry delay in headers and body", async () => {
    const agent = await world.agent({ ratePerMinute: 60, burst: 10 });
    const answers = await Promise.all(
      Array.from({ length: 14 }, () => world.call(agent, "echo", { message: "" })),
    );
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(10);
    const refused = answers.filter((answer) => answer.status === 429);
    expect(refused).toHaveLength(4);
    for (const answer of refused) {
      expectError(answer, 429, "RATE_LIMITED", /try again/);
      expect(answer.body.retry_after_seconds).toBe(1);
      expect(answer.headers.get("x-ratelimit-remaining")).toBe("0");
    }
  });
});

describe("a refused call: 500 and 503", () => {
  it("charges nothing when the tool fails, and retries under the same key without a second payment", async () => {
    const agent = await world.agent();
    const { body: offer } = await world.call(agent, "inference_chat", chat("pay me"));
    const tx = await world.pay(agent, BigInt(offer.quote.price_usdc_microusd), memoOf(offer.quote));
    const extra = { headers: xPayment(tx, offer.quote.quote_id) };
    model.status = 500;
    const failed = await world.call(agent, "inference_chat", chat("pay me"), extra);
    model.status = 200;
    expectError(failed, 500, "TOOL_FAILED", /./);
    expect((await world.get(agent, "/receipts")).body.items).toEqual([]);
    expect((await world.get(agent, "/runs")).body.items).toMatchObject([
      { status: "failed", spent_usdc_microusd: 0, receipt_id: null, error: { code: "TOOL_FAILED" } },
    ]);
    expect(Number(await balanceOf(agent)) * 1e6).toBe(offer.quote.price_usdc_microusd);
    const again = await world.call(agent, "inference_chat", chat("pay me"), extra);
    expect(again.status).toBe(200);
    expect(again.body.receipt).toMatchObject({ paid_by: "transfer", tx_signature: tx });
    const unused = offer.quote.price_usdc_microusd - again.body.receipt.debited_usdc_microusd;
    expect(Math.round(Number(await balanceOf(agent)) * 1e6)).toBe(unused);
  });

  it("maps a busy upstream to UNAVAILABLE with Retry-After, uncharged", async () => {
    model.status = 429;
    const busy = await world.call(rich, "inference_chat", chat("busy"));
    model.status = 200;
    expectError(busy, 503, "UNAVAILABLE", /./);
    expect(busy.headers.get("retry-after")).toBe("1");
  });

  it("returns UNAVAILABLE, never INVALID_PAYMENT, when every RPC endpoint is down", async () => {
    const { body: offer } = await ask();
    const tx = await world.pay(poor, PRICE, memoOf(offer.quote));
    const extra = { headers: xPayment(tx, offer.quote.quote_id) };
    world.chain.faults.add({ method: "getTransaction", fault: { kind: "http", status: 500 } } as never);
    const down = await world.call(poor, PAID.tool, PAID.params, extra);
    world.chain.faults.clear();
    expectError(down, 503, "UNAVAILABLE", /./);
    await expect
      .poll(async () => (await world.call(poor, PAID.tool, PAID.params, extra)).status, {
        interval: 500,
      })
      .toBe(200);
  });
});
