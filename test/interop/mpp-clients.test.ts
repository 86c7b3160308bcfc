import { ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from "@modelcontextprotocol/client";
import { createKeyPairSignerFromBytes } from "@solana/kit";
import { createPayKitClient } from "@solana/pay-kit/client";
import { Challenge, PaymentRequest, Receipt } from "mppx";
import { McpClient } from "mppx/mcp/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { command } from "../tooling/command.ts";
import { useWorld } from "../support/use-world.ts";
import { request, type Agent } from "../support/world.ts";
import { callGrpc, failureOf, grpcClient } from "../transport/grpc-client.ts";
import { mppPayer, withApiKey, type MppPayer } from "./mpp-payer.ts";
import { SLOT_MS } from "./x402-payer.ts";

/** The unmodified clients of the scheme `Payment`, with a key that holds USDC and no SOL. */

const TOOL = "vram_estimate";
const PARAMS = { model: "llama-3.1-8b" };
const CALL = JSON.stringify({ tool: TOOL, params: PARAMS });
const PRICE = 1_000n;
const JSON_BODY = { "Content-Type": "application/json" };

const world = useWorld({}, SLOT_MS);
let agent: Agent;
let payer: MppPayer;

beforeAll(async () => {
  agent = await world.agent();
  payer = await mppPayer(world);
});
afterAll(async () => {
  expect(await payer.lamports()).toBe(0);
});

const url = (path: string) => world.gateway.baseUrl + path;

/** Runs it and compares the payer's balance with the expected cost. */
async function costing<Result>(price: bigint, run: () => Promise<Result>, using = payer): Promise<Result> {
  const before = await using.usdc();
  const result = await run();
  expect(before - (await using.usdc())).toBe(price);
  return result;
}

function expectReceipt(response: Response, txSignature: string): void {
  expect(Receipt.fromResponse(response)).toMatchObject({
    status: "success",
    method: "solana",
    reference: txSignature,
    challengeId: expect.any(String),
  });
  expect(response.headers.get("cache-control")).toBe("private");
}

describe("a challenge", () => {
  it("describes the quote in the form of the scheme", async () => {
    const { headers, body } = await world.call(agent, TOOL, PARAMS);
    const challenge = Challenge.deserialize(headers.get("www-authenticate") ?? "");
    const { quote, payment_instructions: instructions } = body;
    expect(headers.get("www-authenticate")).toContain(
      `request="${PaymentRequest.serialize(challenge.request)}"`,
    );
    expect(challenge).toEqual({
      id: expect.stringMatching(/^[\w-]{43}$/),
      realm: "127.0.0.1",
      method: "solana",
      intent: "charge",
      expires: expect.any(String),
      digest: expect.stringMatching(/^sha-256=:.{44}:$/),
      opaque: Buffer.from(JSON.stringify({ quote_id: quote.quote_id })).toString("base64url"),
      request: {
        amount: String(quote.price_usdc_microusd),
        currency: instructions.usdc_mint,
        externalId: `svc:${quote.quote_id}`,
        recipient: instructions.treasury_owner,
        methodDetails: {
          decimals: 6,
          feePayer: true,
          feePayerKey: instructions.fee_payer,
          recentBlockhash: expect.any(String),
          tokenProgram: "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
        },
      },
    });
    expect(Date.parse(challenge.expires ?? "")).toBe(Date.parse(quote.expires_at));
  });

  it("fits with the other headers into 8 KiB, for every tool that wallets buy", async () => {
    const manifest = await request(world.gateway, undefined, "/.well-known/x402", {});
    expect(manifest.body.resources.length).toBeGreaterThan(0);
    for (const resource of manifest.body.resources) {
      const { status, headers } = await fetch(resource, { method: "POST" });
      expect(status).toBe(402);
      const size = [...headers].reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
      expect(size, resource).toBeLessThan(8_192);
    }
  });

  it("is the only one that Accept-Payment allows, and stays when it allows none", async () => {
    for (const accept of ["solana/charge;q=0.5, tempo/*", "*/*", "tempo/charge", "solana/charge;q=0", "?"]) {
      const { headers } = await world.call(agent, TOOL, PARAMS, { headers: { "Accept-Payment": accept } });
      expect(Challenge.deserialize(headers.get("www-authenticate") ?? ""), accept).toMatchObject({
        method: "solana",
      });
    }
  });

  it("is named in the problem that a client asks for, whose other members stay", async () => {
    const accept = { Accept: "application/problem+json" };
    const { headers, body } = await world.call(agent, TOOL, PARAMS, { headers: accept });
    expect(headers.get("content-type")).toBe("application/problem+json");
    expect(body).toMatchObject({
      type: "https://paymentauth.org/problems/payment-required",
      title: "Payment Required",
      status: 402,
      detail: body.message,
      code: "PAYMENT_REQUIRED",
      quote: { tool: TOOL },
    });
    const malformed = await world.call(agent, TOOL, PARAMS, { headers: { ...accept, "X-Payment": "?" } });
    expect(malformed.body).toMatchObject({
      type: "https://paymentauth.org/problems/malformed-credential",
      status: 400,
      code: "INVALID_PAYMENT",
    });
  });

  it("offers push without a fee payer", async () => {
    const other = await world.startAnother({ FEE_PAYER_KEYPAIR: "" });
    const answer = await request(other, agent, "/v1/mcp/tools/call", { method: "POST", body: CALL });
    const { request: asked } = Challenge.deserialize(answer.headers.get("www-authenticate") ?? "");
    expect(asked["methodDetails"]).toEqual({ decimals: 6, tokenProgram: expect.any(String) });
  });
});

describe("the mppx client with @solana/mpp", () => {
  it.each(["/v1/mcp/tools/call", "/mcp"])("buys a call with an API key at %s", async (path) => {
    const buy = withApiKey(agent, payer.fetch);
    const response = await costing(PRICE, () =>
      buy(url(path), { method: "POST", body: CALL, headers: JSON_BODY }),
    );
    expect(response.status).toBe(200);
    const { receipt } = JSON.parse(await response.clone().text());
    expect(receipt).toMatchObject({ paid_by: "gasless", debited_usdc_microusd: Number(PRICE) });
    expectReceipt(response, receipt.tx_signature);
  });

  it("buys a call without an API key", async () => {
    const response = await costing(PRICE, () =>
      payer.fetch(url(`/x402/${TOOL}`), { method: "POST", body: JSON.stringify(PARAMS), headers: JSON_BODY }),
    );
    const text = await response.clone().text();
    expect(response.status, text).toBe(200);
    expectReceipt(response, JSON.parse(text).receipt.tx_signature);
  });

  it("buys a call with a transaction that it sends itself", async () => {
    const sender = await mppPayer(world, true);
    const other = await world.startAnother({ FEE_PAYER_KEYPAIR: "" });
    const response = await costing(
      PRICE,
      () =>
        withApiKey(agent, sender.fetch)(`${other.baseUrl}/v1/mcp/tools/call`, {
          method: "POST",
          body: CALL,
          headers: JSON_BODY,
        }),
      sender,
    );
    const text = await response.clone().text();
    expect(response.status, text).toBe(200);
    expect(JSON.parse(text).receipt.paid_by).toBe("transfer");
    expectReceipt(response, JSON.parse(text).receipt.tx_signature);
  });
});

describe("a credential in metadata", () => {
  it("buys a call over gRPC, with the receipt in the metadata", async () => {
    const client = grpcClient(world.gateway.grpcAddress);
    const { callTool } = ToolService.method;
    const call = { tool: TOOL, params: PARAMS };
    const key = { "x-api-key": agent.apiKey };
    const refused = await failureOf(callGrpc(client, callTool, call, { metadata: key }));
    const [challenge] = refused.metadata.get("www-authenticate");
    const metadata = { ...key, authorization: await payer.credential(String(challenge)) };
    const { message, headers } = await costing(PRICE, () => callGrpc(client, callTool, call, { metadata }));
    client.close();
    const [receipt] = headers.get("payment-receipt");
    expect(Receipt.deserialize(String(receipt)).reference).toBe(message.receipt?.txSignature);
  });

  it("buys a call over Connect, with the receipt in a header", async () => {
    const transport = createConnectTransport({ baseUrl: world.gateway.baseUrl, httpVersion: "1.1" });
    const client = createClient(ToolService, transport);
    const call = { tool: TOOL, params: PARAMS };
    const headers = { "x-api-key": agent.apiKey };
    const refused = await client.callTool(call, { headers }).then(() => undefined, ConnectError.from);
    const authorization = await payer.credential(refused?.metadata.get("www-authenticate") ?? "");
    let receipt: string | null = null;
    const paid = await costing(PRICE, () =>
      client.callTool(call, {
        headers: { ...headers, authorization },
        onHeader: (answered) => (receipt = answered.get("payment-receipt")),
      }),
    );
    expect(Receipt.deserialize(receipt ?? "").reference).toBe(paid.receipt?.txSignature);
  });
});

describe("the MCP client of mppx", () => {
  const settings = { requestInit: { headers: { Prefer: "payment=in-band" } } };

  it("buys a call through the SDK of version 1 with payments in band", async () => {
    const transport = new StreamableHTTPClientTransport(new URL(url("/mcp")), {
      ...settings,
      fetch: withApiKey(agent, fetch),
    });
    const client = new Client({ name: "test", version: "1.0.0" });
    await client.connect(transport);
    expect(client.getServerCapabilities()?.experimental).toEqual({
      payment: { methods: { solana: { intents: ["charge"] } } },
    });
    const paying = McpClient.wrap(client, { methods: [payer.methods] });
    const answer = await costing(PRICE, () => paying.callTool({ name: TOOL, arguments: PARAMS }));
    await client.close();
    expect(answer.receipt).toMatchObject({ status: "success", method: "solana" });
  });

  it("buys a call through a client of 2026-07-28 that announces payment", async () => {
    const transport = new ModernTransport(new URL(url("/mcp")), { fetch: withApiKey(agent, fetch) });
    const client = new ModernClient(
      { name: "test", version: "1.0.0" },
      {
        capabilities: { experimental: { payment: { methods: { solana: { intents: ["charge"] } } } } },
        versionNegotiation: { mode: "auto" },
      },
    );
    await client.connect(transport);
    const paying = McpClient.wrap(client as never, { methods: [payer.methods] }) as never as {
      callTool(params: object): Promise<{ receipt?: object }>;
    };
    const answer = await costing(PRICE, () => paying.callTool({ name: TOOL, arguments: PARAMS }));
    await client.close();
    expect(answer.receipt).toMatchObject({ status: "success", method: "solana" });
  });

  it("buys a call with a fetch that pays", async () => {
    const transport = new StreamableHTTPClientTransport(new URL(url("/mcp")), {
      fetch: withApiKey(agent, payer.fetch),
    });
    const client = new Client({ name: "test", version: "1.0.0" });
    await client.connect(transport);
    const answer = await costing(PRICE, () => client.callTool({ name: TOOL, arguments: PARAMS }));
    await client.close();
    expect(answer["_meta"]).toMatchObject({
      "org.paymentauth/receipt": { status: "success", challengeId: expect.any(String) },
      "toolgate/receipt": { paid_by: "gasless" },
    });
  });
});

describe("mppx validate", () => {
  it("finds no mistake in the discovery, the challenges and the errors", async () => {
    const { code, output } = await command("mppx", ["validate", world.gateway.baseUrl, "--output-json"]);
    const { endpoints, summary } = JSON.parse(output.slice(output.indexOf("{\n")));
    expect({ code, failed: summary.failed }, JSON.stringify(endpoints)).toEqual({ code: 0, failed: 0 });
    // It would have a new challenge, which a client pays by itself, for what is 400 here.
    const warned = JSON.stringify(endpoints).match(/"label":"[^"]*","severity":"warn"/g);
    expect(warned).toEqual(['"label":"Malformed credential returns 402","severity":"warn"']);
  });
});

describe("the client of @solana/pay-kit", () => {
  it.each(["mpp", "x402"] as const)("buys a call by %s", async (protocol) => {
    const signer = await createKeyPairSignerFromBytes(payer.wallet.secretKey);
    const client = await createPayKitClient({ signer, rpcUrl: world.chain.url });
    const init = { method: "POST", body: JSON.stringify(PARAMS), headers: JSON_BODY };
    const response = await costing(PRICE, () => client.fetch(url(`/x402/${TOOL}`), init, protocol));
    expect(response.status, await response.clone().text()).toBe(200);
  });
});
