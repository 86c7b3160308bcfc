import { beforeAll, describe, expect, it } from "vitest";
import type { KeyLimits } from "../../src/domain/accounts/budget.ts";
import { useModelServer, useWorld } from "../support/use-world.ts";
import { expectError } from "./error-body.ts";
import { limitedKey } from "../support/api-keys.ts";
import { memoOf, xPayment, type Agent } from "../support/world.ts";

/**
 * POST /v1/mcp/tools/call (specification 4.1, 7): results, offers, and refusals by status.
 * test/attacks/money-cases shows repeats and failing tools, test/attacks/claims.test.ts bad proofs.
 */

const PAID = { tool: "vram_estimate", params: { model: "llama-3.1-8b" } } as const;
const PRICE = 1000n;

const model = useModelServer();
const world = useWorld(() => ({ INFERENCE_BASE_URL: model.url }));
let rich: Agent;
let poor: Agent;
beforeAll(async () => {
  [rich, poor] = await Promise.all([world.agent({ balance: 10_000_000n }), world.agent()]);
});

const chat = (content: string) => ({ model: "small", messages: [{ role: "user", content }], max_tokens: 10 });
const ask = () => world.call(poor, PAID.tool, PAID.params);
const balanceOf = async (agent: Agent) =>
  (await world.call(agent, "get_status", {})).body.result.balance_usdc;

describe("a successful call: 200", () => {
  it("returns the request id and the rate limit in headers", async () => {
    const agent = await world.agent({ ratePerMinute: 60, burst: 10 });
    const { headers } = await world.call(agent, "echo", { message: "" });
    expect(headers.get("x-request-id")).toMatch(/^req_[0-9a-f]{32}$/);
    expect(headers.get("x-ratelimit-limit")).toBe("60");
    expect(headers.get("x-ratelimit-remaining")).toBe("9");
    expect(Number(headers.get("x-ratelimit-reset"))).toBeGreaterThanOrEqual(
      Math.floor(Date.now() / 1000) - 600,
    );
  });

  it("pays a call from the balance", async () => {
    const agent = await world.agent({ balance: 2_500n });
    const { status, body } = await world.call(agent, PAID.tool, PAID.params);
    expect(status).toBe(200);
    expect(body.result.total.gib).toBeGreaterThan(10);
    expect(body.receipt).toEqual({
      receipt_id: expect.stringMatching(/^rcpt_[0-9a-f]{32}$/),
      step_id: null,
      run_id: expect.stringMatching(/^run_[0-9a-f]{32}$/),
      quote_id: null,
      tool: PAID.tool,
      quoted_usdc_microusd: 1000,
      debited_usdc_microusd: 1000,
      refunded_usdc_microusd: 0,
      paid_by: "balance",
      tx_signature: null,
      status: "final",
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/),
    });
    expect(await balanceOf(agent)).toBe("0.001500");
  });

  it("charges inference by tokens and returns the text in `content`", async () => {
    const { status, body } = await world.call(rich, "inference_chat", chat("hi"));
    expect(status).toBe(200);
    expect(body.result).toMatchObject({
      type: "text",
      content: "Hello.",
      model: "small",
      usage: { total_tokens: 18_000 },
      finish_reason: "stop",
    });
    expect(body.receipt.debited_usdc_microusd).toBeGreaterThan(0);
  });

  it("accepts a proof in X-Payment, by either key, and in the body, short and long, with either memo form", async () => {
    type Offer = { quote: { quote_id: string }; step_id: string };
    const network = "solana-mainnet";
    const forms: [
      string,
      (offer: Offer) => string,
      (offer: Offer, tx: string, memo: string) => { headers?: Record<string, string>; body?: object },
    ][] = [
      ["tx", (o) => memoOf(o.quote), (o, tx) => ({ headers: xPayment(tx, o.quote.quote_id) })],
      [
        "tx_signature, plain base64",
        (o) => `${o.step_id}:${o.quote.quote_id}:n-1`,
        (o, tx) => ({
          headers: {
            "x-payment": Buffer.from(
              JSON.stringify({ tx_signature: tx, quote_id: o.quote.quote_id }),
            ).toString("base64"),
          },
        }),
      ],
      [
        "body, short",
        (o) => `${o.step_id}:${o.quote.quote_id}:n-1`,
        (_, tx, memo) => ({ body: { payment_proof: { tx_ref: tx, amount_usdc: "0.001", memo, network } } }),
      ],
      [
        "body, long",
        (o) => memoOf(o.quote),
        (o, tx, memo) => ({
          body: {
            payment_proof: {
              tx_ref: tx,
              amount_usdc: "0.001000",
              memo,
              network,
              quote_id: o.quote.quote_id,
              step_id: o.step_id,
            },
            idempotency_key: `long-${tx}`,
          },
        }),
      ],
    ];
    for (const [name, memoFor, proofFor] of forms) {
      const { body: offer } = await ask();
      const memo = memoFor(offer);
      const tx = await world.pay(poor, PRICE, memo);
      const paid = await world.call(poor, PAID.tool, PAID.params, proofFor(offer, tx, memo));
      expect(paid.status, `${name}: ${JSON.stringify(paid.body)}`).toBe(200);
      expect(paid.body.receipt).toMatchObject({
        paid_by: "transfer",
        tx_signature: tx,
        quote_id: offer.quote.quote_id,
        step_id: offer.step_id,
        debited_usdc_microusd: 1000,
      });
    }
    expect(await balanceOf(poor)).toBe("0.000000");
  });

  it("ignores the order of params when a call is repeated", async () => {
    const agent = await world.agent({ balance: 5_000n });
    const one = await world.call(
      agent,
      PAID.tool,
      { model: "llama-3.1-8b", batch_size: 2 },
      { body: { idempotency_key: "order" } },
    );
    const two = await world.call(
      agent,
      PAID.tool,
      { batch_size: 2, model: "llama-3.1-8b" },
      { body: { idempotency_key: "order" } },
    );
    expect(two.body).toEqual(one.body);
  });
});

describe("a successful call: 402", () => {
  it("returns a quote with every field of the specification and stores nothing", async () => {
    const agent = await world.agent();
    const { status, headers, body } = await world.call(agent, PAID.tool, PAID.params);
    expect(status).toBe(402);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(body).toEqual({
      code: "PAYMENT_REQUIRED",
      message: expect.any(String),
      request_id: headers.get("x-request-id"),
      quote: {
        quote_id: expect.stringMatching(/^qt_/),
        tool: PAID.tool,
        price_usdc_microusd: 1000,
        amount_usdc_microusd: 1000,
        price_display: "$0.001",
        ttl_seconds: 300,
        expires_at: expect.stringMatching(/Z$/),
      },
      payment_instructions: {
        network: "solana-mainnet",
        asset: "USDC",
        pay_to: world.gateway.payTo,
        destination: world.gateway.payTo,
        usdc_mint: "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
        memo_format: "<step_id>:<quote_id>:<nonce>",
        methods: ["x402_header", "body_payment_proof", "transfer", "solana_pay"],
        x402_header_format: expect.any(String),
        gasless_supported: true,
        payment_methods: ["wallet", "gasless"],
        fee_payer: world.feePayer.publicKey.toBase58(),
        treasury_owner: world.treasury.publicKey.toBase58(),
      },
      step_id: expect.stringMatching(/^step_[0-9a-f]{32}$/),
      retry: { method: "POST", headers: { "X-Payment": expect.any(String) } },
    });
    expect((await world.get(agent, "/runs")).body.items).toEqual([]);
  });
});

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
  const limited = (agent: Agent, change: Partial<KeyLimits>) => limitedKey(world, agent, change);
  const estimate = (agent: Agent, extra?: Parameters<typeof world.call>[3]) =>
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
      resets_at: expect.stringMatching(/T00:00:00\.000Z$/),
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
      .poll(async () => (await world.call(agent, "echo", { message: "" })).status, {
        timeout: 25_000,
        interval: 100,
      })
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
    await expect.poll(status, { timeout: 25_000 }).toBe(403);
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

describe("a refused call: 503", () => {
  it("returns UNAVAILABLE, never INVALID_PAYMENT, when every RPC endpoint is down", async () => {
    const { body: offer } = await ask();
    const tx = await world.pay(poor, PRICE, memoOf(offer.quote));
    const extra = { headers: xPayment(tx, offer.quote.quote_id) };
    world.chain.faults.add({ method: "getTransaction", fault: { kind: "http", status: 500 } } as never);
    const down = await world.call(poor, PAID.tool, PAID.params, extra);
    world.chain.faults.clear();
    expectError(down, 503, "UNAVAILABLE", /./);
    await expect
      .poll(async () => (await world.call(poor, PAID.tool, PAID.params, extra)).status, { interval: 500 })
      .toBe(200);
  });
});
