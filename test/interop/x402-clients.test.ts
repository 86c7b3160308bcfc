import { ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from "@x402/core/http";
import { parsePaymentRequired } from "@x402/core/schemas";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PaidBy } from "#gen/toolgate/v1/receipt_pb.ts";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { useWorld } from "../support/use-world.ts";
import { request, type Agent } from "../support/world.ts";
import { callGrpc, failureOf, grpcClient } from "../transport/grpc-client.ts";
import { SLOT_MS, withKey, x402Payer, type X402Payer } from "./x402-payer.ts";

/** The unmodified x402 client, with a key that holds USDC and no SOL, on every transport. */

const TOOL = "vram_estimate";
const PARAMS = { model: "llama-3.1-8b" };
const BODY = JSON.stringify({ tool: TOOL, params: PARAMS });
const PRICE = 1_000n;
const NETWORK = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp";

const world = useWorld({ X402_V1: "on" }, SLOT_MS);
let agent: Agent;
let payer: X402Payer;

beforeAll(async () => {
  agent = await world.agent();
  payer = await x402Payer(world);
});
afterAll(async () => {
  expect(await payer.lamports()).toBe(0);
});

const buy = (path: string, using: X402Payer, init: RequestInit = {}) =>
  withKey(agent, using.fetch)(world.gateway.baseUrl + path, {
    method: "POST",
    body: BODY,
    ...init,
    headers: { "Content-Type": "application/json" },
  });

/** Runs it and compares the payer's balance with the expected cost. */
async function costing<Result>(price: bigint, run: () => Promise<Result>): Promise<Result> {
  const before = await payer.usdc();
  const result = await run();
  expect(before - (await payer.usdc())).toBe(price);
  return result;
}

async function offered(params: object = PARAMS): Promise<string> {
  const { status, headers } = await world.call(agent, TOOL, params);
  expect(status).toBe(402);
  return headers.get("payment-required") ?? "";
}

const callWith = (paymentSignature: string, headers: Record<string, string> = {}, params: object = PARAMS) =>
  world.call(agent, TOOL, params, { headers: { "PAYMENT-SIGNATURE": paymentSignature, ...headers } });

describe("an x402 offer", () => {
  it("describes the quote in x402's schema", async () => {
    const { headers, body } = await world.call(agent, TOOL, PARAMS);
    const offer = decodePaymentRequiredHeader(headers.get("payment-required") ?? "");
    expect(parsePaymentRequired(offer).success).toBe(true);
    expect(offer).toEqual({
      x402Version: 2,
      error: body.message,
      resource: {
        url: `${world.gateway.baseUrl}/v1/mcp/tools/call`,
        description: `one call of ${TOOL}`,
        mimeType: "application/json",
        serviceName: "toolgate",
      },
      accepts: [
        {
          scheme: "exact",
          network: NETWORK,
          amount: String(body.quote.price_usdc_microusd),
          asset: body.payment_instructions.usdc_mint,
          payTo: world.treasury.publicKey.toBase58(),
          maxTimeoutSeconds: 60,
          extra: {
            feePayer: body.payment_instructions.fee_payer,
            memo: `svc:${body.quote.quote_id}`,
            recentBlockhash: expect.any(String),
            lastValidBlockHeight: expect.stringMatching(/^\d+$/),
            paymentFlow: "upfront",
          },
        },
      ],
      extensions: { "payment-identifier": { info: { required: false }, schema: expect.any(Object) } },
    });
    expect(headers.get("cache-control")).toBe("no-store");
    expect(body.payment_instructions).toMatchObject({
      gasless_supported: true,
      payment_methods: ["wallet", "gasless"],
      treasury_owner: world.treasury.publicKey.toBase58(),
      x402_header_format: expect.stringMatching(/"tx".*"transaction"/),
    });
  });

  it("describes it in version 1 when enabled, and omits x402 from the body when disabled", async () => {
    const { headers, body } = await world.call(agent, TOOL, PARAMS);
    const [accepted] = decodePaymentRequiredHeader(headers.get("payment-required") ?? "").accepts;
    expect(
      parsePaymentRequired({ x402Version: body.x402Version, error: body.error, accepts: body.accepts }),
    ).toMatchObject({
      success: true,
      data: { accepts: [{ network: "solana", maxAmountRequired: accepted?.amount }] },
    });
    const plain = await world.startAnother({ X402_V1: "off" });
    const answer = await request(plain, agent, "/v1/mcp/tools/call", { method: "POST", body: BODY });
    expect(answer.headers.get("payment-required")).not.toBeNull();
    for (const member of ["x402Version", "error", "accepts"]) expect(answer.body).not.toHaveProperty(member);
  });

  it("offers no relay below the minimum amount or while the relay is off", async () => {
    for (const settings of [{ GASLESS_MINIMUM_MICROUSD: "1001" }, { FEE_PAYER_KEYPAIR: "" }]) {
      const other = await world.startAnother(settings);
      const answer = await request(other, agent, "/v1/mcp/tools/call", { method: "POST", body: BODY });
      expect(answer.status).toBe(402);
      expect(answer.headers.get("payment-required")).toBeNull();
      expect(answer.body).not.toHaveProperty("x402Version");
      expect(answer.body.payment_instructions).toMatchObject({
        gasless_supported: false,
        payment_methods: ["wallet"],
        x402_header_format: expect.not.stringContaining('transaction"'),
      });
      for (const member of ["fee_payer", "treasury_owner"])
        expect(answer.body.payment_instructions).not.toHaveProperty(member);
    }
  });
});

describe("the x402 client", () => {
  it.each(["/v1/mcp/tools/call", "/mcp"])("buys a call over HTTP at %s", async (path) => {
    const response = await costing(PRICE, () => buy(path, payer));
    expect(response.status).toBe(200);
    const { receipt } = JSON.parse(await response.text());
    expect(receipt).toMatchObject({ paid_by: "gasless", debited_usdc_microusd: Number(PRICE) });
    const settlement = decodePaymentResponseHeader(response.headers.get("payment-response") ?? "");
    expect(settlement).toEqual({
      success: true,
      transaction: receipt.tx_signature,
      network: NETWORK,
      amount: String(PRICE),
    });
  });

  it("buys a call through an MCP client that uses its fetch", async () => {
    const transport = new StreamableHTTPClientTransport(new URL(`${world.gateway.baseUrl}/mcp`), {
      fetch: withKey(agent, payer.fetch),
    });
    const client = new Client({ name: "test", version: "1.0.0" });
    await client.connect(transport);
    const answer = await costing(PRICE, () => client.callTool({ name: TOOL, arguments: PARAMS }));
    await client.close();
    const { structuredContent, _meta } = CallToolResultSchema.parse(answer);
    expect(structuredContent).toMatchObject({ total: expect.anything() });
    expect(_meta?.["x402/payment-response"]).toMatchObject({ success: true, network: NETWORK });
    expect(_meta?.["toolgate/receipt"]).toMatchObject({ paid_by: "gasless" });
  });

  it("buys a call with a payload in _meta, as x402's MCP clients send it", async () => {
    const paymentSignature = await payer.sign(await offered());
    const payload = JSON.parse(Buffer.from(paymentSignature, "base64").toString());
    const params = { name: TOOL, arguments: PARAMS, _meta: { "x402/payment": payload } };
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    const { status, body } = await costing(PRICE, () => world.post(agent, "/mcp", message));
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body.result._meta["x402/payment-response"]).toMatchObject({ success: true });
    const again = await costing(0n, () => callWith(paymentSignature));
    expect(again.body.receipt).toEqual(body.result._meta["toolgate/receipt"]);
  });

  it("buys a call over gRPC with offer, payment and settlement in the metadata", async () => {
    const client = grpcClient(world.gateway.grpcAddress);
    const authorization = `Bearer ${agent.apiKey}`;
    const { callTool } = ToolService.method;
    const call = { tool: TOOL, params: PARAMS };
    const refused = await failureOf(callGrpc(client, callTool, call, { metadata: { authorization } }));
    const [offer] = refused.metadata.get("payment-required");
    const metadata = { authorization, "payment-signature": await payer.sign(String(offer)) };
    const { message, headers } = await costing(PRICE, () => callGrpc(client, callTool, call, { metadata }));
    client.close();
    expect(message.receipt?.paidBy).toBe(PaidBy.GASLESS);
    const [settled] = headers.get("payment-response");
    expect(decodePaymentResponseHeader(String(settled))).toMatchObject({
      transaction: message.receipt?.txSignature,
    });
  });

  it("buys a call over Connect with headers of the error and the response", async () => {
    const transport = createConnectTransport({ baseUrl: world.gateway.baseUrl, httpVersion: "1.1" });
    const client = createClient(ToolService, transport);
    const call = { tool: TOOL, params: PARAMS };
    const headers = { authorization: `Bearer ${agent.apiKey}` };
    const refused = await client.callTool(call, { headers }).then(() => undefined, ConnectError.from);
    const paymentSignature = await payer.sign(refused?.metadata.get("payment-required") ?? "");
    let settled: string | null = null;
    const paid = await costing(PRICE, () =>
      client.callTool(call, {
        headers: { ...headers, "payment-signature": paymentSignature },
        onHeader: (answered) => (settled = answered.get("payment-response")),
      }),
    );
    expect(decodePaymentResponseHeader(settled ?? "")).toMatchObject({
      transaction: paid.receipt?.txSignature,
    });
    const unreadable = { ...headers, "payment-signature": paymentSignature.slice(0, 100) };
    const failed = await client
      .callTool(call, { headers: unreadable })
      .then(() => undefined, ConnectError.from);
    expect(decodePaymentResponseHeader(failed?.metadata.get("payment-response") ?? "")).toMatchObject({
      success: false,
      errorReason: "invalid_payment",
    });
  });

  it("buys a call in version 1 and gets a version 1 response", async () => {
    const old = await x402Payer(world, 1);
    const response = await buy("/v1/mcp/tools/call", old);
    expect(response.status).toBe(200);
    expect(old.exchanges.map(({ proofs }) => typeof proofs.xPayment)).toEqual(["undefined", "string"]);
    expect(await old.usdc()).toBe(1_000_000n - PRICE);
    const { receipt } = JSON.parse(await response.text());
    const settlement = decodePaymentResponseHeader(response.headers.get("x-payment-response") ?? "");
    expect(settlement).toMatchObject({ success: true, transaction: receipt.tx_signature, network: "solana" });
  });

  it("buys a call with the same transaction in X-Payment and its quote", async () => {
    const { payload } = JSON.parse(Buffer.from(await payer.sign(await offered()), "base64").toString());
    const offer = await offered();
    const other = decodePaymentRequiredHeader(offer).accepts[0]?.extra["memo"];
    const header = (quoteId: unknown) => ({
      "X-Payment": Buffer.from(
        JSON.stringify({ transaction: payload.transaction, quote_id: quoteId }),
      ).toString("base64url"),
    });
    const wrong = await world.call(agent, TOOL, PARAMS, {
      headers: header(String(other).slice("svc:".length)),
    });
    expect(wrong).toMatchObject({ status: 400, body: { code: "INVALID_PAYMENT" } });
    expect(wrong.body.message).toMatch(/^X-Payment: quote_id is not the one in the transaction's memo/);
    const signed = JSON.parse(Buffer.from(await payer.sign(offer), "base64").toString()).payload.transaction;
    const right = Buffer.from(JSON.stringify({ transaction: signed, quote_id: String(other).slice(4) }));
    const { status, body } = await costing(PRICE, () =>
      world.call(agent, TOOL, PARAMS, { headers: { "X-Payment": right.toString("base64url") } }),
    );
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body.receipt.paid_by).toBe("gasless");
  });
});

describe("a repeated x402 payment", () => {
  it("returns the stored result and is not charged", async () => {
    const paymentSignature = await payer.sign(await offered());
    const first = await costing(PRICE, () => callWith(paymentSignature));
    expect(first.status, JSON.stringify(first.body)).toBe(200);
    const again = await costing(0n, () => callWith(paymentSignature));
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("payment-response")).toBe(first.headers.get("payment-response"));
  });

  it("is identified by its payment-identifier, under which nothing else is accepted", async () => {
    const id = "pay_0123456789abcdef0123456789abcdef";
    const identified = async () =>
      payer.sign(await offered(), (payload) => {
        const info = payload.extensions?.["payment-identifier"]?.info;
        if (!info) throw new Error("the client does not repeat the extension");
        info["id"] = id;
      });
    const first = await costing(PRICE, async () => callWith(await identified()));
    expect(first.status, JSON.stringify(first.body)).toBe(200);
    const again = await costing(0n, async () => callWith(await identified()));
    expect(again.body).toEqual(first.body);
    const byKey = await costing(0n, () => world.call(agent, TOOL, PARAMS, { body: { idempotency_key: id } }));
    expect(byKey.body).toEqual(first.body);
    const otherKey = await costing(0n, async () =>
      callWith(await identified(), { "Idempotency-Key": "other" }),
    );
    expect(otherKey).toMatchObject({ status: 400, body: { code: "INVALID_REQUEST" } });
    const otherCall = await costing(0n, async () =>
      callWith(await identified(), {}, { model: "llama-3.1-70b" }),
    );
    expect(otherCall.body.code).toBe("IDEMPOTENCY_MISMATCH");
  });
});
