import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import type { Client } from "@grpc/grpc-js";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Health } from "#gen/grpc/health/v1/health_pb.ts";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { useGateway } from "./gateway.ts";
import { callGrpc, grpcClient } from "./grpc-client.ts";
import { postText, useHttpServer } from "./http-server.ts";
import { connect } from "node:net";

const gateway = useGateway();
const opened = useHttpServer(gateway);
let base: string;
let client: Client;
let rich: { authorization: string; accountId: string };
let poor: { authorization: string };

beforeAll(() => {
  base = `http://127.0.0.1:${opened.port}`;
  client = grpcClient(gateway.grpcAddress);
});
beforeEach(() => {
  rich = gateway.key({ balance: 1_000_000n });
  poor = gateway.key();
  gateway.records.length = 0;
});
afterAll(() => client.close());

const post = async (path: string, body: unknown, authorization = rich.authorization, headers = {}) => {
  const sent = { authorization, "content-type": "application/json", ...headers };
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return (await fetch(`${base}${path}`, { method: "POST", headers: sent, body: text })).text();
};
const rpc = (method: string, params: object) => ({ jsonrpc: "2.0", id: 1, method, params });
const callOf = (name: string) =>
  rpc("tools/call", { name, arguments: name === "echo" ? { message: "hi" } : {} });
/** The records so far, as one line each. */
const seen = () =>
  gateway.records.map(({ transport, method, tool = "-", status, code = "-" }) =>
    [transport, method, tool, status, code].join(" "),
  );
const paid = { tool: "paid", params: {} };

it("names account, key, run, receipt, size and times of a paid call", async () => {
  const answer = await post("/v1/mcp/tools/call", paid);
  const [record] = gateway.records;
  expect(seen()).toEqual(["http ToolService/CallTool paid 200 -"]);
  const { receipt } = JSON.parse(answer);
  expect(record).toMatchObject({
    caller: { accountId: rich.accountId },
    requestId: expect.stringMatching(/^req_/),
    runId: receipt.run_id,
    receiptId: receipt.receipt_id,
    bytes: Buffer.byteLength(answer),
  });
  expect(record?.ms).toBeGreaterThan(record?.toolMs ?? 0);
});

describe("records each request once, with the same statuses everywhere", () => {
  it("over HTTP", async () => {
    await post("/v1/mcp/tools/call", { tool: "echo", params: { message: "hi" } });
    await post("/v1/mcp/tools/call", paid, poor.authorization);
    await post("/v1/mcp/tools/call", { tool: `no-${"x".repeat(20)}`, params: {} });
    await post("/v1/mcp/tools/call", "{");
    await post("/v1/mcp/tools/call", paid, "Bearer no");
    await post("/nowhere", {});
    await fetch(`${base}/livez`);
    await expect
      .poll(seen)
      .toEqual([
        "http ToolService/CallTool echo 200 -",
        "http ToolService/CallTool paid 402 PAYMENT_REQUIRED",
        "http ToolService/CallTool other 404 TOOL_NOT_FOUND",
        "http ToolService/CallTool - 400 INVALID_REQUEST",
        "http ToolService/CallTool - 401 UNAUTHORIZED",
        "http other - 404 NOT_FOUND",
        "http /livez - 200 -",
      ]);
  });

  it("over MCP, where errors may be results", async () => {
    const inBand = { prefer: "payment=in-band" };
    await post("/mcp", callOf("echo"));
    await post("/mcp", callOf("paid"), poor.authorization, inBand);
    await post("/mcp", callOf("paid"), poor.authorization);
    await post("/mcp", callOf("none"));
    await post("/mcp", rpc("tools/list", {}));
    await post("/mcp", rpc(`x${"y".repeat(30)}`, {}));
    await post("/mcp", { jsonrpc: "2.0", method: "notifications/cancelled" });
    await post("/mcp", "[");
    expect(seen()).toEqual([
      "mcp tools/call echo 200 -",
      "mcp tools/call paid 402 PAYMENT_REQUIRED",
      "mcp tools/call paid 402 PAYMENT_REQUIRED",
      "mcp tools/call - 400 INVALID_REQUEST",
      "mcp tools/list - 200 -",
      "mcp other - 404 NOT_FOUND",
      "mcp notification - 202 -",
      "mcp ToolService/CallTool - 400 INVALID_REQUEST",
    ]);
  });

  it("over MCP in a batch, each message and the batch", async () => {
    await post("/mcp", [callOf("echo"), { ...callOf("paid"), id: 2 }], poor.authorization);
    expect(seen()).toEqual([
      "mcp tools/call echo 200 -",
      "mcp tools/call paid 402 PAYMENT_REQUIRED",
      "mcp batch - 200 -",
    ]);
  });

  it("over gRPC, with grpc-js's own services", async () => {
    const { callTool } = ToolService.method;
    await callGrpc(client, callTool, paid, { metadata: { authorization: rich.authorization } });
    const metadata = { authorization: poor.authorization };
    await expect(callGrpc(client, callTool, paid, { metadata })).rejects.toThrow();
    await callGrpc(client, Health.method.check, {});
    const unknown = { ...callTool, name: "Nothing" };
    await expect(callGrpc(client, unknown, paid, { metadata })).rejects.toThrow();
    expect(seen()).toEqual([
      "grpc ToolService/CallTool paid 200 -",
      "grpc ToolService/CallTool paid 402 PAYMENT_REQUIRED",
      "grpc Health/Check - 200 -",
      "grpc other - 501 -",
    ]);
  });

  it("over Connect and gRPC-Web", async () => {
    const { authorization } = poor;
    for (const make of [createConnectTransport, createGrpcWebTransport]) {
      const service = createClient(ToolService, make({ baseUrl: base, httpVersion: "1.1" }));
      await service.callTool(paid, { headers: { authorization: rich.authorization } });
      await expect(service.callTool(paid, { headers: { authorization } })).rejects.toThrow();
    }
    const headers = { "content-type": "application/grpc-web+proto" };
    await post("/toolgate.v1.ToolService/CallTool", "not a message", rich.authorization, headers);
    await post("/toolgate.v1.ToolService/Nothing", {});
    const called = [
      "connect ToolService/CallTool paid 200 -",
      "connect ToolService/CallTool paid 402 PAYMENT_REQUIRED",
    ];
    await expect
      .poll(seen)
      .toEqual([
        ...called,
        ...called,
        "connect ToolService/CallTool - 400 -",
        "connect other - 404 NOT_FOUND",
      ]);
  });
});

it("records a client that disconnects as 499, and bytes that are not HTTP as 400", async () => {
  const socket = connect(opened.port, "127.0.0.1");
  const started = new Promise((resolve) => gateway.tools.events.once("started", resolve));
  socket.write(postText("/v1/mcp/tools/call", rich.authorization, { tool: "wait", params: {} }));
  await started;
  socket.destroy();
  const wrong = connect(opened.port, "127.0.0.1");
  wrong.write("nonsense\r\n\r\n");
  await expect
    .poll(() => seen().toSorted())
    .toEqual(["http ToolService/CallTool wait 499 CANCELLED", "http other - 400 INVALID_REQUEST"]);
});
