import { once } from "node:events";
import { request as startRequest, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { setImmediate as turn } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startFixtureGateway, type FixtureGateway } from "../conformance/fixture-gateway.ts";
import { ToolgateError } from "../../src/domain/core/errors.ts";
import type { JsonObject } from "../../src/domain/core/json.ts";
import type { PreparedCall, Tool } from "../../src/domain/tools/tool.ts";
import type { Agent, Answer } from "../support/world.ts";
import { eventsOf, mcp, META, metaWith, mirror, MODERN, modern, SERVER_CAPABILITIES } from "./mcp-client.ts";

/**
 * POST /mcp in the era without `initialize` (revision 2026-07-28), and what both eras share: streams of
 * events, origins.
 */

/** The instructions for the tools of this file, and their outcomes. */
const deeds: string[] = [];

const MIRRORED: JsonObject = {
  type: "object",
  properties: {
    region: { type: "string", "x-mcp-header": "Region" },
    count: { type: "integer", "x-mcp-header": "Count" },
    deep: { type: "object", properties: { flag: { type: "boolean", "x-mcp-header": "Flag" } } },
    listed: { type: "array", items: { properties: { no: { type: "string", "x-mcp-header": "No" } } } },
  },
};

let world: FixtureGateway;
let agent: Agent;
beforeAll(async () => {
  world = await startFixtureGateway([
    free("regional", async () => ({ done: true }), MIRRORED),
    free("stepwise", async ({ progress, signal }) => {
      for (const done of [0, 50, 50, 40, 100]) {
        progress?.({ progress: done, total: 100, message: `at ${done}` });
        await turn(undefined, { signal });
      }
      return { done: true };
    }),
    free("fails-late", async ({ progress }) => {
      progress?.({ progress: 1 });
      throw new ToolgateError("TOOL_FAILED", "the tool broke");
    }),
    free("endless", async ({ progress, signal }) => {
      progress?.({ progress: 1 });
      await once(signal, "abort");
      deeds.push("endless was cancelled");
      return {};
    }),
    free("picture", async () => ({ base64: "AAAA", media_type: "image/png" })),
    free("blocks", async () => ({ content: [{ type: "text", text: "a" }, { type: "audio" }], text: "a" })),
    free("no-blocks", async () => ({ content: [{ type: "unheard-of" }] })),
  ]);
  agent = await world.agent();
});
afterAll(() => world.close());

function free(name: string, run: PreparedCall["run"], inputSchema: JsonObject = { type: "object" }): Tool {
  const prepare = () => ({ price: 0n, run });
  const rest = {
    inputSchema,
    status: "active",
    billable: false,
    scope: undefined,
    fixedPrice: undefined,
  } as const;
  return { name, description: name, prepare, ...rest };
}

const ask = (method: string, params?: object, headers?: Record<string, string>) =>
  modern(world.gateway, agent, method, params, headers);
const call = (name: string, args: object = {}, headers?: Record<string, string>) =>
  ask("tools/call", { name, arguments: args }, headers);
const post = (body: unknown, headers?: Record<string, string>) => mcp(world.gateway, agent, body, headers);

function expectRefused(answer: Answer, status: number, code: number, says: RegExp): void {
  expect(answer.body).toMatchObject({
    jsonrpc: "2.0",
    id: "m-1",
    error: { code, message: expect.stringMatching(says) },
  });
  // Clients detect the server's version by this body, so nothing is merged into it.
  expect(Object.keys(answer.body).toSorted()).toEqual(["error", "id", "jsonrpc"]);
  expect(answer.status).toBe(status);
}

describe("an MCP result", () => {
  const _meta = { "io.modelcontextprotocol/serverInfo": { name: "toolgate", version: expect.any(String) } };

  it("lists the supported versions in server/discover", async () => {
    const { status, body } = await ask("server/discover");
    expect(body).toEqual({
      jsonrpc: "2.0",
      id: "m-1",
      result: {
        resultType: "complete",
        supportedVersions: [MODERN],
        capabilities: SERVER_CAPABILITIES,
        instructions: expect.stringContaining("402"),
        ttlMs: expect.any(Number),
        cacheScope: "private",
        _meta,
      },
    });
    expect(status).toBe(200);
  });

  it("lets only this caller cache tools/list for a while", async () => {
    const { body } = await ask("tools/list");
    expect(body.result).toMatchObject({ resultType: "complete", cacheScope: "private", _meta });
    expect(body.result.ttlMs).toBeGreaterThanOrEqual(0);
    expect(body.result.tools.map(({ name }: Tool) => name).slice(0, 3)).toEqual([
      "get_status",
      "echo",
      "vram_estimate",
    ]);
  });

  it("is complete with the server's name in tools/call", async () => {
    const { body, headers } = await call("echo", { message: "hi" });
    expect(body.result).toEqual({
      resultType: "complete",
      content: [{ type: "text", text: '{"echo":"hi"}' }],
      structuredContent: { echo: "hi" },
      isError: false,
      _meta,
    });
    expect(headers.get("mcp-session-id")).toBeNull();
  });

  it("tells the model what is wrong with its arguments", async () => {
    const { status, body } = await call("echo", { message: 1 });
    expect(body.result).toMatchObject({ resultType: "complete", isError: true, _meta });
    expect(status).toBe(200);
  });

  it("accepts trace context and unknown fields in _meta", async () => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const _meta = metaWith({ traceparent, tracestate: "a=b", baggage: "c=d", "com.example/own": [1] });
    expect(
      (await ask("tools/call", { name: "echo", arguments: { message: "" }, _meta })).body.result.isError,
    ).toBe(false);
  });

  it("contains exactly the pictures or content blocks of the tool", async () => {
    const contentOf = async (name: string) => {
      const { content, structuredContent } = (await call(name)).body.result;
      return { content, structuredContent };
    };
    expect(await contentOf("picture")).toEqual({
      content: [{ type: "image", data: "AAAA", mimeType: "image/png" }],
    });
    expect(await contentOf("blocks")).toEqual({ content: [{ type: "text", text: "a" }, { type: "audio" }] });
    const odd = { content: [{ type: "unheard-of" }] };
    expect(await contentOf("no-blocks")).toEqual({
      content: [{ type: "text", text: JSON.stringify(odd) }],
      structuredContent: odd,
    });
  });
});

describe("the order of MCP refusals", () => {
  const body = (changes: object) => ({
    jsonrpc: "2.0",
    id: "m-1",
    method: "tools/list",
    params: { _meta: META },
    ...changes,
  });
  const headers = mirror("tools/list");

  it.each([
    ["no params", undefined],
    ["no _meta", {}],
    ["a _meta that is no object", { _meta: [] }],
    ["no version", { _meta: metaWith({ "io.modelcontextprotocol/protocolVersion": undefined }) }],
    ["a version that is no string", { _meta: metaWith({ "io.modelcontextprotocol/protocolVersion": 1 }) }],
    ["no capabilities", { _meta: metaWith({ "io.modelcontextprotocol/clientCapabilities": undefined }) }],
  ])("rejects first a request with incomplete headers: %s", async (_, params) => {
    // Its other errors follow below.
    const wrong = { "MCP-Protocol-Version": MODERN, "Mcp-Method": "nonsense" };
    expectRefused(await post(body({ params, method: "nothing" }), wrong), 400, -32602, /^params\._meta/);
  });

  it("rejects second a header that is missing or names another version", async () => {
    const { "MCP-Protocol-Version": _, ...without } = headers;
    expectRefused(await post(body({}), without), 400, -32020, /MCP-Protocol-Version is missing/);
    const unknown = { _meta: metaWith({ "io.modelcontextprotocol/protocolVersion": "2099-01-01" }) };
    expectRefused(await post(body({ params: unknown }), headers), 400, -32020, /MCP-Protocol-Version says/);
    const twice = { ...headers, "MCP-Protocol-Version": `${MODERN}, ${MODERN}` };
    expectRefused(await post(body({}), twice), 400, -32020, /MCP-Protocol-Version says/);
  });

  it.each(["2099-01-01", "2025-11-25", "nonsense"])(
    "rejects third the unsupported version %j",
    async (requested) => {
      const params = { _meta: metaWith({ "io.modelcontextprotocol/protocolVersion": requested }) };
      const answer = await post(body({ params, method: "nothing" }), { "MCP-Protocol-Version": requested });
      expectRefused(answer, 400, -32022, /2026-07-28/);
      expect(answer.body.error.data).toEqual({ supported: [MODERN], requested });
    },
  );

  it("rejects fourth an Mcp-Method that is sent twice", async () => {
    const sent = { ...headers, "Mcp-Method": "tools/list, tools/list" };
    expectRefused(await post(body({}), sent), 400, -32020, /Mcp-Method/);
  });

  it.each([
    ["another", "get_status"],
    ["not base64", "=?base64?ZWNo!bw==?="],
    ["base64 of something else", "=?base64?ZWNo?="],
    ["base64 without its padding", "=?base64?ZWNobyE?="],
    ["beyond what headers hold", "echo\u00e9"],
  ])("rejects fifth an Mcp-Name that is %s", async (_, sent) => {
    expectRefused(await call("echo", { message: "" }, { "Mcp-Name": sent }), 400, -32020, /Mcp-Name/);
  });

  it("requires an Mcp-Name, and accepts it in base64", async () => {
    const params = { _meta: META, name: "echo", arguments: { message: "" } };
    const answer = await post(body({ method: "tools/call", params }), mirror("tools/call"));
    expectRefused(answer, 400, -32020, /Mcp-Name is missing/);
    expect((await call("echo", { message: "" }, { "Mcp-Name": "=?base64?ZWNobw==?=" })).status).toBe(200);
    expect((await call("echo", { message: "" }, { "Mcp-Name": "  echo  " })).status).toBe(200);
  });

  it.each(["constructor", ""])("rejects last the unknown method %j", async (method) => {
    expectRefused(await ask(method, { protocolVersion: MODERN }), 404, -32601, /^unknown method/);
  });
});

describe("tool arguments repeated in headers", () => {
  const args = { region: "us west", count: 42, deep: { flag: true } };
  const sent = { "Mcp-Param-Region": "us west", "Mcp-Param-Count": "42", "Mcp-Param-Flag": "true" };

  it("are compared with the arguments, numerically for numbers and decoded from base64", async () => {
    expect((await call("regional", args, sent)).status).toBe(200);
    const other = { ...sent, "Mcp-Param-Count": "42.0", "Mcp-Param-Region": "=?base64?dXMgd2VzdA==?=" };
    expect((await call("regional", args, other)).status).toBe(200);
  });

  it("are optional for absent and null arguments", async () => {
    expect((await call("regional", { region: null, listed: [{ no: "x" }] })).status).toBe(200);
  });

  it.each([
    ["missing", args, { "Mcp-Param-Region": "us west", "Mcp-Param-Count": "42" }],
    ["another text", args, { ...sent, "Mcp-Param-Region": "us east" }],
    ["another number", args, { ...sent, "Mcp-Param-Count": "43" }],
    ["no number", args, { ...sent, "Mcp-Param-Count": "" }],
    ["another truth", args, { ...sent, "Mcp-Param-Flag": "True" }],
    ["one that no argument says", {}, { "Mcp-Param-Region": "us west" }],
    ["what no header can hold", { region: "\u00e9" }, { "Mcp-Param-Region": "\u00e9" }],
    ["no base64", args, { ...sent, "Mcp-Param-Region": "=?base64?dXM?=" }],
  ])("are rejected when a header is %s", async (_, given, headers) => {
    expectRefused(await call("regional", given, headers), 400, -32020, /Mcp-Param-/);
  });

  it("are ignored for older protocol versions", async () => {
    const body = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "regional", arguments: args },
    };
    expect((await post(body)).status).toBe(200);
  });
});

/** A call with progress, as its caller sees it. */
async function watched(name: string, token: unknown = "t-1", headers: Record<string, string> = {}) {
  const body = {
    jsonrpc: "2.0",
    id: 7,
    method: "tools/call",
    params: { name, arguments: {}, _meta: { progressToken: token } },
  };
  const request = startRequest(new URL("/mcp", world.gateway.baseUrl), {
    method: "POST",
    headers: { Authorization: `Bearer ${agent.apiKey}`, "Content-Type": "application/json", ...headers },
  });
  request.on("error", () => {});
  request.end(JSON.stringify(body));
  const [response]: IncomingMessage[] = await once(request, "response");
  if (!response) throw new Error("no response");
  return { request, response };
}

describe("MCP progress", () => {
  it("arrives as increasing events of the call's response, before the result", async () => {
    const { response } = await watched("stepwise");
    expect(response.statusCode).toBe(200);
    expect(response.headers).toMatchObject({
      "content-type": "text/event-stream",
      "x-accel-buffering": "no",
      "cache-control": "no-store",
      "x-request-id": expect.stringMatching(/^req_/),
      "x-ratelimit-limit": expect.any(String),
    });
    const progress = (done: number) => ({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken: "t-1", progress: done, total: 100, message: `at ${done}` },
    });
    const result = {
      jsonrpc: "2.0",
      id: 7,
      result: expect.objectContaining({ structuredContent: { done: true } }),
    };
    expect(eventsOf(await text(response))).toEqual([progress(0), progress(50), progress(100), result]);
  });

  it("reaches callers of the newest protocol version", async () => {
    const body = { name: "stepwise", arguments: {}, _meta: metaWith({ progressToken: 0 }) };
    const response = await fetch(`${world.gateway.baseUrl}/mcp`, {
      method: "POST",
      headers: {
        ...{ Authorization: `Bearer ${agent.apiKey}`, "Content-Type": "application/json" },
        ...mirror("tools/call", "stepwise"),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call", params: body }),
    });
    const events = eventsOf(await response.text());
    expect(events.at(0).params.progressToken).toBe(0);
    expect(events.at(-1).result.resultType).toBe("complete");
  });

  it("is not sent when the caller did not request it, and the response is JSON", async () => {
    for (const answer of [await call("stepwise"), await call("echo", { message: "" })]) {
      expect(answer.headers.get("content-type")).toBe("application/json");
    }
  });

  it.each(["application/json", "application/json;q=0.9, text/html"])(
    "is not sent to a caller that accepts no events (%s)",
    async (Accept) => {
      const { response } = await watched("stepwise", 1, { Accept });
      expect(response.headers["content-type"]).toBe("application/json");
      expect(JSON.parse(await text(response)).result.structuredContent).toEqual({ done: true });
    },
  );

  it.each(["*/*", "application/json, text/event-stream", "Text/Event-Stream"])(
    "is sent to a caller that accepts events (%s)",
    async (Accept) => {
      const { response } = await watched("stepwise", 1, { Accept });
      expect(response.headers["content-type"]).toBe("text/event-stream");
      response.resume();
    },
  );

  it("keeps the response JSON for a tool without progress", async () => {
    const { response } = await watched("picture");
    expect(response.headers["content-type"]).toBe("application/json");
    response.resume();
  });

  it("ends with the failure when the tool fails after its first event", async () => {
    const { response } = await watched("fails-late");
    expect(response.statusCode).toBe(200);
    const [, last] = eventsOf(await text(response));
    expect(Object.keys(last)).toEqual(["jsonrpc", "id", "result"]);
    const content = [{ type: "text", text: "the tool broke" }];
    const _meta = { "toolgate/error": { code: "TOOL_FAILED" } };
    expect(last).toMatchObject({ id: 7, result: { isError: true, content, _meta } });
  });

  it.each([[1.5], [{}], [true], [2 ** 53]])("is not sent for the token %j", async (token) => {
    const { response } = await watched("stepwise", token);
    const body = JSON.parse(await text(response));
    expect(body.error).toMatchObject({
      code: -32602,
      message: expect.stringContaining("params._meta.progressToken"),
    });
  });

  it("is not asked for by the token null", async () => {
    const { response } = await watched("stepwise", null);
    expect(response.headers["content-type"]).toBe("application/json");
    expect(JSON.parse(await text(response)).result.structuredContent).toEqual({ done: true });
  });

  it("ends with the caller, whose disconnect cancels the call", async () => {
    const { request, response } = await watched("endless");
    await once(response, "data");
    request.destroy();
    await expect.poll(() => deeds).toContain("endless was cancelled");
  });
});
