import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startModelServer, type ModelServer } from "../support/model-server.ts";
import { memoOf, startWorld, xPayment, type Agent, type World } from "../support/world.ts";

/** POST /v1/mcp/tools/call (specification 4.1): results and offers. */

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

describe("a successful call: 200", () => {
  it("runs a free tool at once", async () => {
    const answer = await world.call(poor, "echo", { message: "héllo" });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ ok: true, result: { echo: "héllo" } });
  });

  it("returns version, status and balance", async () => {
    const answer = await world.call(poor, "get_status", {});
    expect(answer.body).toEqual({
      ok: true,
      result: { version: "0.1.0", status: "healthy", balance_usdc: "0.000000" },
    });
  });

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

  it("keeps an overpayment on the balance", async () => {
    const agent = await world.agent();
    const { body: offer } = await world.call(agent, PAID.tool, PAID.params);
    const tx = await world.pay(agent, PRICE + 500n, memoOf(offer.quote));
    const paid = await world.call(agent, PAID.tool, PAID.params, {
      headers: xPayment(tx, offer.quote.quote_id),
    });
    expect(paid.body.receipt.debited_usdc_microusd).toBe(1000);
    expect(await balanceOf(agent)).toBe("0.000500");
  });

  it("replays by key, by proof, and by proof with another key, with one receipt and one charge", async () => {
    const agent = await world.agent();
    const { body: offer } = await world.call(agent, PAID.tool, PAID.params);
    const tx = await world.pay(agent, PRICE, memoOf(offer.quote));
    const headers = xPayment(tx, offer.quote.quote_id);
    const first = await world.call(agent, PAID.tool, PAID.params, {
      headers,
      body: { idempotency_key: "k1" },
    });
    const repeats = await Promise.all([
      world.call(agent, PAID.tool, PAID.params, { headers, body: { idempotency_key: "k1" } }),
      world.call(agent, PAID.tool, PAID.params, { headers }),
      world.call(agent, PAID.tool, PAID.params, { body: { idempotency_key: "k1" } }),
      world.call(agent, PAID.tool, PAID.params, { headers: { "Idempotency-Key": "k1" } }),
      world.call(agent, PAID.tool, PAID.params, { headers, body: { idempotency_key: "k2" } }),
    ]);
    for (const repeat of repeats) expect(repeat.body).toEqual(first.body);
    expect((await world.get(agent, "/receipts")).body.items).toHaveLength(1);
    expect(await balanceOf(agent)).toBe("0.000000");
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

  it("returns INVALID_PAYMENT with a retry delay and no new quote for a proof that is not on the chain yet", async () => {
    const { body: offer } = await ask();
    const unknown = await world.call(poor, PAID.tool, PAID.params, {
      headers: xPayment(base58.encode(randomBytes(64)), offer.quote.quote_id),
    });
    expect(unknown.status).toBe(402);
    expect(unknown.headers.get("retry-after")).toBe("2");
    expect(unknown.body).toEqual({
      code: "INVALID_PAYMENT",
      message: expect.stringMatching(/not on the chain yet/),
      request_id: expect.any(String),
      retry_after_seconds: 2,
    });
  });
});
