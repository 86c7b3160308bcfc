import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { x402Payer, type X402Payer } from "../interop/x402-payer.ts";
import { useWorld } from "../support/use-world.ts";
import { memoOf, xPayment, type Agent, type Answer } from "../support/world.ts";
import { mcp, modern } from "./mcp-client.ts";

/** Payment for tools/call in band: offers in results, proofs in `_meta`; and batches, which need it. */

const NAME = "vram_estimate";
const ARGUMENTS = { model: "llama-3.1-8b" };
const PRICE = 1000n;
const IN_BAND = { Prefer: "payment=in-band" };

const world = useWorld();
let payer: X402Payer;
beforeAll(async () => {
  payer = await x402Payer(world);
});

function buy(agent: Agent, headers: Record<string, string> = {}, _meta?: object, args: object = ARGUMENTS) {
  const params = { name: NAME, arguments: args, ...(_meta && { _meta }) };
  return mcp(world.gateway, agent, { jsonrpc: "2.0", id: 1, method: "tools/call", params }, headers);
}

const receiptOf = ({ body }: Answer) => body.result._meta["toolgate/receipt"];

/** The payload that x402's own client signs for the offer. */
async function x402Payment(offer: object): Promise<unknown> {
  const header = Buffer.from(JSON.stringify(offer)).toString("base64");
  return JSON.parse(Buffer.from(await payer.sign(header), "base64").toString());
}

/** The error of a result, in its text and in its `_meta`. */
function reported(answer: Answer, name: string) {
  expect(answer.status).toBe(200);
  expect(answer.headers.get("preference-applied")).toBe("payment=in-band");
  const { content, isError, structuredContent, _meta } = answer.body.result;
  expect({ isError, structuredContent }).toEqual({ isError: true, structuredContent: undefined });
  const offered = name === "toolgate/payment_required" ? ["org.paymentauth/payment-required"] : [];
  expect(Object.keys(_meta)).toEqual([name, ...offered]);
  const body = JSON.parse(content[0].text);
  expect(body).toMatchObject(_meta[name]);
  return body;
}

describe("MCP payment in band", () => {
  it("returns the offer as a result", async () => {
    const agent = await world.agent();
    const offer = reported(await buy(agent, IN_BAND), "toolgate/payment_required");
    const { body } = await buy(agent);
    const { jsonrpc: _, id: __, error: ___, ...plain } = body;
    expect(Object.keys(offer).toSorted()).toEqual(expect.arrayContaining(Object.keys(plain)));
    expect(offer).toMatchObject({
      code: "PAYMENT_REQUIRED",
      quote: { tool: NAME, price_usdc_microusd: 1000 },
      payment_instructions: { memo_format: "svc:{quote_id}" },
    });
  });

  it.each([
    "payment=in-band",
    'payment="in-band"',
    "respond-async, payment = in-band; x=1",
    "wait=5,PAYMENT=in-band",
  ])("accepts the preference %j", async (Prefer) => {
    expect((await buy(await world.agent(), { Prefer })).status).toBe(200);
  });

  it.each(["payment", "payment=out", "xpayment=in-band", "payment=in-bandit", "return=minimal"])(
    "ignores the preference in %j",
    async (Prefer) => {
      const answer = await buy(await world.agent(), { Prefer });
      expect(answer.status).toBe(402);
      expect(answer.headers.get("preference-applied")).toBeNull();
    },
  );

  it("returns the offer in the newest protocol version too", async () => {
    const params = { name: NAME, arguments: ARGUMENTS };
    const answer = await modern(world.gateway, await world.agent(), "tools/call", params, IN_BAND);
    expect(answer.body.result).toMatchObject({ resultType: "complete", isError: true });
    expect(answer.body.result._meta["toolgate/payment_required"].code).toBe("PAYMENT_REQUIRED");
  });

  it("refuses a bad proof without another offer", async () => {
    const agent = await world.agent();
    const { quote } = reported(await buy(agent, IN_BAND), "toolgate/payment_required");
    const tx = await world.pay(agent, PRICE - 1n, memoOf(quote));
    const refused = reported(
      await buy(agent, { ...IN_BAND, ...xPayment(tx, quote.quote_id) }),
      "toolgate/error",
    );
    expect(refused).toMatchObject({ code: "INVALID_PAYMENT" });
    expect(refused).not.toHaveProperty("quote");
    expect(reported(await buy(agent, { ...IN_BAND, "X-Payment": "nonsense" }), "toolgate/error").code).toBe(
      "INVALID_PAYMENT",
    );
  });

  it("returns x402's offer too, and accepts its payment without a header", async () => {
    const agent = await world.agent();
    const answer = await buy(agent, IN_BAND);
    const offer = reported(answer, "toolgate/payment_required");
    expect(offer).toMatchObject({ x402Version: 2, accepts: [{ scheme: "exact", amount: "1000" }] });
    expect(answer.body.result._meta["toolgate/payment_required"]).not.toHaveProperty("accepts");
    const paid = await buy(agent, IN_BAND, { "x402/payment": await x402Payment(offer) });
    expect(receiptOf(paid)).toMatchObject({ paid_by: "gasless" });
    expect(paid.body.result._meta["x402/payment-response"]).toMatchObject({
      success: true,
      transaction: receiptOf(paid).tx_signature,
    });
    const refused = await buy(agent, IN_BAND, { "x402/payment": { x402Version: 2 } });
    expect(refused.body.result._meta["x402/payment-response"]).toMatchObject({ success: false });
  });

  it("keeps the status of every other failure", async () => {
    const agent = await world.agent({ scopes: ["billing:read"] });
    const answer = await buy(agent, IN_BAND);
    expect(answer.status).toBe(403);
    expect(answer.body).toMatchObject({ code: "FORBIDDEN", error: { code: 403 } });
  });

  it("changes nothing for a call paid from the balance", async () => {
    const agent = await world.agent({ balance: 5_000n });
    expect(receiptOf(await buy(agent, IN_BAND))).toMatchObject({ paid_by: "balance" });
  });
});

describe("MCP payment in _meta", () => {
  it("accepts the contract's proof, and replays by the contract's key", async () => {
    const agent = await world.agent();
    const { quote } = reported(await buy(agent, IN_BAND), "toolgate/payment_required");
    const tx = await world.pay(agent, PRICE, memoOf(quote));
    const meta = {
      "toolgate/payment_proof": { tx_ref: tx, network: "solana-mainnet", quote_id: quote.quote_id },
      "toolgate/idempotency_key": randomUUID(),
    };
    const paid = await buy(agent, {}, meta);
    expect(receiptOf(paid)).toMatchObject({ paid_by: "transfer", tx_signature: tx });
    const { "toolgate/payment_proof": _, ...keyOnly } = meta;
    expect((await buy(agent, {}, keyOnly)).body).toEqual(paid.body);
    expect((await world.get(agent, "/receipts")).body.items).toHaveLength(1);
  });

  it("binds a key to one call", async () => {
    const agent = await world.agent({ balance: 10_000n });
    const meta = { "toolgate/idempotency_key": "one" };
    await buy(agent, {}, meta);
    expect((await buy(agent, {}, meta, { parameters_b: 7 })).body.code).toBe("IDEMPOTENCY_MISMATCH");
    const twice = await buy(agent, { "Idempotency-Key": "two" }, meta);
    expect(twice.body.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("Idempotency-Key") }],
    });
  });

  it.each([
    [[], /^params\._meta: must be an object/],
    [{ "toolgate/payment_proof": "tx" }, /^params\._meta\["toolgate\/payment_proof"\]: /],
    [{ "toolgate/payment_proof": { tx_ref: 1 } }, /^params\._meta\["toolgate\/payment_proof"\]\.tx_ref: /],
    [{ "toolgate/idempotency_key": 1 }, /^params\._meta\["toolgate\/idempotency_key"\]: must be a string/],
  ])("names the malformed field in %j", async (meta, says) => {
    const { status, body } = await buy(await world.agent({ balance: 5_000n }), {}, meta);
    expect(body.error).toEqual({ code: -32602, message: expect.stringMatching(says) });
    expect(status).toBe(200);
  });

  it("accepts x402's payment, and refuses an unreadable one", async () => {
    const { status, body } = await buy(await world.agent(), {}, { "x402/payment": { x402Version: 2 } });
    expect(body).toMatchObject({ code: "INVALID_PAYMENT", error: { data: { code: "INVALID_PAYMENT" } } });
    expect(status).toBe(400);
  });
});

describe("a tool in tools/list", () => {
  const list = async (agent: Agent) =>
    (await mcp(world.gateway, agent, { jsonrpc: "2.0", id: 1, method: "tools/list" })).body.result.tools;

  it("shows its price and that paying tools are not read-only", async () => {
    const [status, , estimate] = await list(await world.agent());
    expect(status).toMatchObject({
      annotations: { readOnlyHint: true },
      _meta: { "toolgate/billable": false },
    });
    expect(status._meta).not.toHaveProperty("toolgate/price");
    expect(estimate).toMatchObject({
      annotations: { readOnlyHint: false, destructiveHint: false },
      _meta: {
        "toolgate/billable": true,
        "toolgate/price": { price_usdc_microusd: 1000, price_display: "$0.001" },
      },
    });
  });

  it("appears only if the key may call it", async () => {
    const names = (await list(await world.agent({ scopes: ["billing:read"] }))).map(
      ({ name }: { name: string }) => name,
    );
    expect(names).toEqual(["get_status", "echo"]);
  });
});

describe("an MCP batch", () => {
  const OLD = { "MCP-Protocol-Version": "2025-03-26" };
  const request = (id: number, method: string, params?: object) => ({ jsonrpc: "2.0", id, method, params });
  const call = (id: number, name: string, args: object, _meta?: object) =>
    request(id, "tools/call", { name, arguments: args, _meta });
  const send = (agent: Agent, body: readonly unknown[], headers: Record<string, string> = {}) =>
    mcp(world.gateway, agent, body, headers);
  const ten = Array.from({ length: 10 }, (_, id) => request(id, "ping"));

  it("is answered in its order, with and without the header of its version", async () => {
    const agent = await world.agent();
    for (const headers of [{}, OLD]) {
      const { status, body } = await send(agent, ten, headers);
      expect(body).toEqual(ten.map(({ id }) => ({ jsonrpc: "2.0", id, result: {} })));
      expect(status).toBe(200);
    }
  });

  it("gets 202 without a body when it needs no response", async () => {
    const notification = { jsonrpc: "2.0", method: "notifications/initialized" };
    const { status, body } = await send(await world.agent(), [
      notification,
      { jsonrpc: "2.0", id: 1, result: {} },
    ]);
    expect({ status, body }).toEqual({ status: 202, body: undefined });
  });

  it("pays each call separately, and offers a quote in the result of an unpaid one", async () => {
    const agent = await world.agent({ balance: 2n * PRICE + 1n });
    const estimates = [7, 8, 9].map((id) => call(id, NAME, { parameters_b: id }));
    const { status, body } = await send(agent, [...estimates, call(10, "echo", { message: "free" })]);
    expect(status).toBe(200);
    const [first, second, third, free] = body;
    expect(
      [first, second].map(({ result }) => result._meta["toolgate/receipt"].debited_usdc_microusd),
    ).toEqual([1000, 1000]);
    expect(third.result).toMatchObject({ isError: true });
    expect(third.result._meta["toolgate/payment_required"]).toMatchObject({ code: "PAYMENT_REQUIRED" });
    expect(free.result.structuredContent).toEqual({ echo: "free" });
    expect((await world.get(agent, "/receipts")).body.items).toHaveLength(2);
  });

  it("accepts a proof per call in its _meta", async () => {
    const agent = await world.agent();
    const { quote } = reported(await buy(agent, IN_BAND), "toolgate/payment_required");
    const proof = {
      tx_ref: await world.pay(agent, PRICE, memoOf(quote)),
      network: "solana-mainnet",
      quote_id: quote.quote_id,
    };
    const { body } = await send(agent, [
      call(1, NAME, ARGUMENTS, { "toolgate/payment_proof": proof, progressToken: 1 }),
      call(2, NAME, { parameters_b: 7 }),
    ]);
    expect(body[0].result._meta["toolgate/receipt"]).toMatchObject({ paid_by: "transfer" });
    expect(body[1].result.isError).toBe(true);
  });

  it("reports an x402 payment in its call's result and in no header", async () => {
    const agent = await world.agent();
    const payment = await x402Payment(reported(await buy(agent, IN_BAND), "toolgate/payment_required"));
    const { body, headers } = await send(agent, [
      call(1, NAME, ARGUMENTS, { "x402/payment": payment }),
      call(2, NAME, { parameters_b: 7 }),
      call(3, "echo", { message: "" }),
    ]);
    const settled = body.map(
      ({ result }: Answer["body"]) => result._meta?.["x402/payment-response"]?.success,
    );
    expect(settled).toEqual([true, undefined, undefined]);
    expect(headers.get("payment-response")).toBeNull();
  });

  it("reports the error of each message separately", async () => {
    const agent = await world.agent({ scopes: ["billing:read"] });
    const { body } = await send(agent, [
      request(3, "initialize", { protocolVersion: "2025-03-26" }),
      request(4, "server/discover", { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } }),
      request(5, "nothing"),
      call(6, "echo", { message: 1 }),
      call(7, NAME, ARGUMENTS),
    ]);
    const seen = body.map(({ id, error, result }: Answer["body"]) => [id, error?.code ?? result.isError]);
    expect(seen).toEqual([
      [3, -32600],
      [4, -32600],
      [5, -32601],
      [6, true],
      [7, 403],
    ]);
    expect(body.at(-1).error.data).toMatchObject({ code: "FORBIDDEN" });
  });

  it("counts each message against the key's rate limit", async () => {
    const agent = await world.agent({ ratePerMinute: 1, burst: 3 });
    const { status, body, headers } = await send(agent, ten.slice(0, 5));
    expect(status).toBe(200);
    expect(body.map(({ error }: Answer["body"]) => error?.code)).toEqual([
      undefined,
      undefined,
      undefined,
      429,
      429,
    ]);
    expect(body[4].error.data).toMatchObject({
      code: "RATE_LIMITED",
      retry_after_seconds: expect.any(Number),
    });
    expect(headers.get("x-ratelimit-remaining")).toBe("0");
  });

  it.each([
    ["holds what is no message", [...ten.slice(1), 1], {}, /^body\[9\]: is not a JSON-RPC/],
    ["is empty", [], {}, /must hold a message/],
    ["is too long", [...ten, request(10, "ping")], {}, /at most 10/],
    ["is of another revision", ten, { "MCP-Protocol-Version": "2025-06-18" }, /only revision 2025-03-26/],
    ["comes with a header of one call", ten, { "Idempotency-Key": "k" }, /idempotency-key/],
    ["comes with a payment in a header", ten, { "X-Payment": "x" }, /x-payment/],
    ["comes with a signed payment in a header", ten, { "Payment-Signature": "x" }, /payment-signature/],
  ])("is refused when it %s", async (_, messages, headers, says) => {
    const { status, body } = await send(await world.agent(), messages, headers);
    expect(body).toMatchObject({ code: "INVALID_REQUEST", id: null, error: { code: -32600 } });
    expect(body.message).toMatch(says);
    expect(status).toBe(400);
  });
});
