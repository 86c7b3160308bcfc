import { afterAll, describe, expect, it } from "vitest";
import { base58 } from "@scure/base";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { COMPLETION, json, modelServer, type ModelServer } from "../inference/model-server.ts";
import { useWorld } from "../support/use-world.ts";
import { memoOf, xPayment, type Agent } from "../support/world.ts";
import { callGrpc, grpcClient } from "../transport/grpc-client.ts";

/**
 * Characters that PostgreSQL's text cannot hold (NUL), or that have no UTF-8 form (lone surrogates), on the
 * money path.
 */

const NUL = "\u0000";
const LONE = "\ud800";
const ODD = [
  "\u0000",
  "a\u0000b",
  "\u0000".repeat(100),
  "\\u0000",
  "\\",
  '"',
  "😀",
  "\u2028\u2029",
  "\uffff",
  "\u{10ffff}",
  "\r\n\t\b\f",
  "\u007f\u0080",
  "𝟘 e\u0301 ﷽",
];

let model: ModelServer;
let content = "";

const world = useWorld(async () => {
  model = await modelServer((response, request) => {
    if (request.url?.endsWith("/models"))
      return json(response, 200, { object: "list", data: [{ id: "small", object: "model" }] });
    const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
    return json(response, 200, { ...COMPLETION, choices });
  });
  return { INFERENCE_BASE_URL: model.baseUrl };
});
afterAll(() => model[Symbol.asyncDispose]());

const chat = (text: string) => ({
  model: "small",
  messages: [{ role: "user", content: text }],
  max_tokens: 10,
});
const balanceOf = async (agent: Agent) =>
  (await world.call(agent, "get_status", {})).body.result.balance_usdc;

describe("a stored call", () => {
  it.each(ODD)("keeps params and result with %j, and replays them unchanged", async (text) => {
    const agent = await world.agent();
    const extra = { headers: { "Idempotency-Key": "odd" } };
    const first = await world.call(agent, "echo", { message: text }, extra);
    expect(first.status).toBe(200);
    expect(first.body.result).toEqual({ echo: text });
    expect((await world.call(agent, "echo", { message: text }, extra)).body).toEqual(first.body);
    expect((await world.call(agent, "echo", { message: `${text}!` }, extra)).status).toBe(422);
  });

  it.each(ODD)("is paid on the chain once with %j in params and result, on every transport", async (text) => {
    content = text;
    const agent = await world.agent();
    const { body: offer } = await world.call(agent, "inference_chat", chat(text));
    const tx = await world.pay(agent, BigInt(offer.quote.price_usdc_microusd), memoOf(offer.quote));
    const headers = xPayment(tx, offer.quote.quote_id);
    const paid = await world.call(agent, "inference_chat", chat(text), { headers });
    expect(paid.status).toBe(200);
    expect(paid.body.result.content).toBe(text);
    expect((await world.call(agent, "inference_chat", chat(text), { headers })).body).toEqual(paid.body);
    const client = grpcClient(world.gateway.grpcAddress);
    const metadata = { authorization: `Bearer ${agent.apiKey}`, "x-payment": headers["X-Payment"] ?? "" };
    const request = { tool: "inference_chat", params: chat(text) };
    const { message } = await callGrpc(client, ToolService.method.callTool, request, { metadata });
    client.close();
    expect(message.result).toEqual(paid.body.result);
    expect((await world.get(agent, "/receipts")).body.items).toEqual([paid.body.receipt]);
  });

  it("keeps a result with lone surrogates, which every transport can send", async () => {
    content = `${LONE} and \udc00${NUL}`;
    const agent = await world.agent({ balance: 1_000_000n });
    const headers = { "Idempotency-Key": "lone" };
    const first = await world.call(agent, "inference_chat", chat("x"), { headers });
    expect(first.status).toBe(200);
    const again = await world.call(agent, "inference_chat", chat("x"), { headers });
    expect(again.body).toEqual(first.body);
    const client = grpcClient(world.gateway.grpcAddress);
    const metadata = { authorization: `Bearer ${agent.apiKey}`, "idempotency-key": "lone" };
    const request = { tool: "inference_chat", params: chat("x") };
    const { message } = await callGrpc(client, ToolService.method.callTool, request, { metadata });
    client.close();
    expect(message.receipt?.receiptId).toBe(first.body.receipt.receipt_id);
    const rpc = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "inference_chat", arguments: chat("x") },
    };
    const mcp = await world.post(agent, "/mcp", rpc, headers);
    expect(mcp.body.result._meta["toolgate/receipt"]).toEqual(first.body.receipt);
    expect((await world.get(agent, "/receipts")).body.items).toHaveLength(1);
  });
});

describe("unstorable strings", () => {
  it.each([LONE, `a${LONE}`, "\udc00\ud800"])(
    "refuses params with %j on every transport that can carry them, before money moves",
    async (text) => {
      const agent = await world.agent({ balance: 1_000_000n });
      const headers = { "Idempotency-Key": "refused" };
      const tool = await world.call(agent, "inference_chat", chat(text), { headers });
      expect(tool).toMatchObject({ status: 400, body: { code: "INVALID_REQUEST" } });
      const params = { name: "inference_chat", arguments: chat(text) };
      const mcp = await world.post(
        agent,
        "/mcp",
        { jsonrpc: "2.0", id: 1, method: "tools/call", params },
        headers,
      );
      expect(mcp.body.result.isError).toBe(true);
      const request = { tool: "inference_chat", params: chat(text) };
      const connect = await world.post(agent, "/toolgate.v1.ToolService/CallTool", request, headers);
      expect(connect).toMatchObject({ status: 400, body: { code: "invalid_argument" } });
      expect((await world.get(agent, "/runs")).body.items).toEqual([]);
      expect(await balanceOf(agent)).toBe("1.000000");
    },
  );

  it.each([NUL, LONE, `k${NUL}`, "ü", "\n", "😀"])(
    "refuses the idempotency key %j before money moves",
    async (key) => {
      const agent = await world.agent({ balance: 1_000_000n });
      const answer = await world.call(agent, "inference_chat", chat("x"), { body: { idempotency_key: key } });
      expect(answer).toMatchObject({ status: 400, body: { code: "INVALID_REQUEST" } });
      expect((await world.get(agent, "/runs")).body.items).toEqual([]);
    },
  );

  it.each([NUL, LONE, `qt_${NUL}`, `qt_1${LONE}`, "qt_ü", "qt_", "qt_0", "qt_1:2"])(
    "refuses a proof with the quote %j before money moves",
    async (quoteId) => {
      const agent = await world.agent();
      const tx = base58.encode(new Uint8Array(64).fill(7));
      const proofs = [
        {
          headers: {
            "X-Payment": Buffer.from(JSON.stringify({ tx, quote_id: quoteId })).toString("base64url"),
          },
        },
        { body: { payment_proof: { tx_ref: tx, network: "solana-mainnet", quote_id: quoteId } } },
        { body: { payment_proof: { tx_ref: tx, network: "solana-mainnet", memo: `svc:${quoteId}` } } },
      ];
      for (const proof of proofs) {
        const answer = await world.call(agent, "inference_chat", chat("x"), proof);
        expect(answer.status).toBe(400);
        expect(["INVALID_PAYMENT", "INVALID_REQUEST"]).toContain(answer.body.code);
      }
    },
  );
});
