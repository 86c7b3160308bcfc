import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { McpBackend } from "../../../../src/tools/custom/mcp/mcp-backend.ts";
import { secret } from "../../../support/record.ts";
import { until } from "../../../support/until.ts";
import { useWorld } from "../../../support/use-world.ts";
import { startOfficialServer, startWatchedServer, type OfficialServer } from "../mcp/servers.ts";
import { startOddServer, type OddServer } from "./odd-server.ts";
import { buildOddTypes } from "./odd-types.ts";

/** gRPC methods and MCP tools as custom tools of a gateway. */

const KEY = secret("a header's value", "Bearer another-servers-key-4711");
let grpc: OddServer;
let mcp: OfficialServer;

const world = useWorld(async () => {
  const types = await buildOddTypes();
  [grpc, mcp] = await Promise.all([startOddServer(types), startOfficialServer("stateful")]);
  const common = {
    headers_env: { Authorization: "TOOL_OTHER_KEY" },
    allow_hosts: ["127.0.0.1"],
    timeout_ms: 10_000,
  };
  const odd = { address: `127.0.0.1:${grpc.port}`, tls: false };
  const tools = [
    {
      ...common,
      name: "mirror",
      price: { expression: "size(params.longs) * 30", minimum_microusd: 10 },
      grpc: { ...odd, method: "odd.v1.OddService/Echo", descriptor_set: types.file },
    },
    {
      ...common,
      name: "perform",
      price: { flat_microusd: 50 },
      grpc: { ...odd, method: "odd.v1.OddService/Perform" },
    },
    { ...common, name: "add", price: { flat_microusd: 70 }, mcp: { url: mcp.url, tool: "add" } },
    { ...common, name: "fail", price: { flat_microusd: 70 }, mcp: { url: mcp.url, tool: "fail" } },
  ];
  const config = path.join(await mkdtemp(path.join(tmpdir(), "custom-tools-")), "toolgate.json");
  await writeFile(config, JSON.stringify({ tools }));
  return { TOOLGATE_CONFIG: config, TOOL_OTHER_KEY: KEY };
});
beforeAll(async () => {
  await until(async () => {
    const { tools } = (await world.get(undefined, "/mcp/capabilities")).body;
    return tools.slice(-4).every(({ status }: { status: string }) => status !== "coming_soon");
  });
});
afterAll(async () => {
  grpc.close();
  mcp.close();
});

describe("custom gRPC and MCP tools", () => {
  it("calls a gRPC method at the price of its parameters, with a receipt", async () => {
    const agent = await world.agent({ balance: 1_000n });
    const answer = await world.call(agent, "mirror", { longs: ["1", "9223372036854775807"], aBytes: "AAEC" });
    expect(answer).toMatchObject({
      status: 200,
      body: {
        result: { longs: ["1", "9223372036854775807"], aBytes: "AAEC", aColour: "COLOUR_UNSPECIFIED" },
        receipt: { debited_usdc_microusd: 60 },
      },
    });
    const { metadata } = grpc.seen.at(-1)!;
    expect(metadata.get("authorization")).toEqual([KEY]);
    expect(metadata.get("idempotency-key")).toEqual([answer.body.receipt.run_id]);
  });

  it("calls an MCP tool, with a receipt", async () => {
    const agent = await world.agent({ balance: 1_000n });
    const answer = await world.call(agent, "add", { a: 20, b: 1 });
    expect(answer).toMatchObject({
      status: 200,
      body: { result: { sum: 21 }, receipt: { debited_usdc_microusd: 70 } },
    });
    expect(mcp.calls().at(-1)?.headers).toMatchObject({
      authorization: KEY,
      "idempotency-key": answer.body.receipt.run_id,
    });
  });

  it("calls a tool of this gateway over its MCP revision", async () => {
    const watched = await startWatchedServer(`${world.gateway.baseUrl}/mcp`);
    const { apiKey } = await world.agent({ balance: 1_000n });
    const backend = new McpBackend({
      tool: "again",
      section: { url: watched.url, tool: "add" },
      headers: { authorization: `Bearer ${apiKey}` },
      timeoutMs: 10_000,
      maxResponseBytes: 100_000,
      guard: { network: "any" },
    });
    const { signal } = new AbortController();
    expect((await backend.describe(signal)).inputSchema).toMatchObject({ required: ["a", "b"] });
    expect(await backend.call({ a: 2, b: 3 }, { signal, idempotencyKey: undefined })).toMatchObject({
      result: { sum: 5 },
    });
    expect(watched.calls().map(({ headers }) => headers["mcp-protocol-version"])).toEqual(["2026-07-28"]);
    await backend.close();
    watched.close();
  });

  it.each([
    ["mirror", { longs: [], a_int64: 1 }, /^params\.a_int64: /],
    ["mirror", { longs: [], at: "0001-01-01T00:00:00+01:00" }, /^params: /],
    ["perform", { what: 1 }, /^params\.what: /],
    ["add", { a: 1 }, /^params\.b: /],
  ])("rejects parameters of %s that its server cannot parse", async (tool, params, message) => {
    const agent = await world.agent({ balance: 1_000n });
    expect(await world.call(agent, tool, params)).toMatchObject({
      status: 400,
      body: { code: "INVALID_REQUEST", message: expect.stringMatching(message) },
    });
  });

  it.each([
    ["perform", { what: "refuse", code: status.NOT_FOUND }, 400, "TOOL_FAILED", "the reason why"],
    ["fail", {}, 400, "TOOL_FAILED", "the reason why"],
    ["perform", { what: "busy" }, 429, "UNAVAILABLE"],
    // The server echoes the operator's secret.
    ["perform", { what: KEY }, 500, "TOOL_FAILED"],
  ])("charges nothing when %s(%o) fails", async (tool, params, httpStatus, code, words = "") => {
    const agent = await world.agent({ balance: 1_000n });
    const answer = await world.call(agent, tool, params);
    expect(answer).toMatchObject({ status: httpStatus, body: { code } });
    expect(answer.body.message.includes("the reason why")).toBe(words !== "");
    expect((await world.call(agent, "get_status", {})).body.result.balance_usdc).toBe("0.001000");
  });
});
