import { beforeAll, describe, expect, it } from "vitest";
import { useWorld } from "../support/use-world.ts";
import { memoOf, xPayment, type Agent, type Answer } from "../support/world.ts";
import { expectError } from "./error-body.ts";
import { SERVER_CAPABILITIES } from "./mcp-client.ts";

/**
 * POST /mcp (specification 4.2): the plain tool call and MCP's JSON-RPC, distinguished by their form.
 * test/interop/transports.test.ts compares the refusals of both with those of the other paths,
 * test/interop/mcp-differential.test.ts the rest of JSON-RPC with the official library.
 */

const PAID = { tool: "vram_estimate", params: { model: "llama-3.1-8b" } } as const;
const PRICE = 1000n;

const world = useWorld();
let rich: Agent;
let poor: Agent;

beforeAll(async () => {
  [rich, poor] = await Promise.all([world.agent({ balance: 10_000_000n }), world.agent()]);
});

const mcp = (agent: Agent | undefined, body: unknown, headers: Record<string, string> = {}) =>
  world.post(agent, "/mcp", body, headers);
const rpc = (agent: Agent, method: string, params?: unknown, headers: Record<string, string> = {}) =>
  mcp(agent, { jsonrpc: "2.0", id: 1, method, ...(params !== undefined && { params }) }, headers);
const callRpc = (agent: Agent, name: string, args: unknown, headers: Record<string, string> = {}) =>
  rpc(agent, "tools/call", { name, arguments: args }, headers);
const buyRpc = (agent: Agent, headers: Record<string, string> = {}) =>
  callRpc(agent, PAID.tool, PAID.params, headers);

function expectResult(answer: Answer, result: unknown): void {
  expect(answer.body).toEqual({ jsonrpc: "2.0", id: 1, result });
  expect(answer.status).toBe(200);
}

function expectRpcResultError({ body }: Answer, says: RegExp): void {
  expect(body.result).toEqual({
    content: [{ type: "text", text: expect.stringMatching(says) }],
    isError: true,
  });
}

function expectRpcError(answer: Answer, code: number, message: RegExp): void {
  expect(answer.body).toEqual({
    jsonrpc: "2.0",
    id: 1,
    error: { code, message: expect.stringMatching(message) },
  });
  expect(answer.status).toBe(200);
}

describe("a plain tool call over MCP", () => {
  it("offers a quote with the short memo form, accepts its payment and replays", async () => {
    const agent = await world.agent();
    const offer = await mcp(agent, PAID);
    expect(offer.status).toBe(402);
    expect(offer.body.code).toBe("PAYMENT_REQUIRED");
    expect(offer.body.payment_instructions.memo_format).toBe("svc:{quote_id}");
    expect(offer.body).not.toHaveProperty("jsonrpc");
    expect(offer.body).not.toHaveProperty("error");
    const tx = await world.pay(agent, PRICE, memoOf(offer.body.quote));
    const headers = xPayment(tx, offer.body.quote.quote_id);
    const paid = await mcp(agent, PAID, headers);
    expect(paid.status).toBe(200);
    expect(paid.body.receipt).toMatchObject({ paid_by: "transfer", tx_signature: tx });
    expect((await mcp(agent, PAID, headers)).body).toEqual(paid.body);
  });
});

describe("MCP: 200", () => {
  describe("initialize", () => {
    it.each(["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])(
      "negotiates %s",
      async (protocolVersion) => {
        const clientInfo = { name: "test", version: "1" };
        const answer = await rpc(poor, "initialize", { protocolVersion, capabilities: {}, clientInfo });
        expectResult(answer, {
          protocolVersion,
          capabilities: SERVER_CAPABILITIES,
          serverInfo: { name: "toolgate", version: "0.1.0" },
          instructions: expect.stringContaining("402"),
        });
        expect(answer.headers.get("mcp-session-id")).toBeNull();
      },
    );

    it.each(["2023-01-01", "2099-01-01", "", "nonsense"])(
      "offers its newest version for %j",
      async (protocolVersion) => {
        const answer = await rpc(poor, "initialize", { protocolVersion });
        expect(answer.body.result.protocolVersion).toBe("2025-11-25");
      },
    );
  });

  it.each(["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])(
    "uses the header for %s",
    async (version) => {
      expectResult(await rpc(poor, "ping", {}, { "MCP-Protocol-Version": version }), {});
    },
  );

  describe("tools/list", () => {
    it("lists the callable tools in the catalogue's order, with schemas", async () => {
      const { body } = await rpc(poor, "tools/list");
      const { tools } = body.result;
      expect(tools.slice(0, 3).map((tool: { name: string }) => tool.name)).toEqual([
        "get_status",
        "echo",
        "vram_estimate",
      ]);
      for (const tool of tools) {
        // A model that makes a new key for each attempt pays twice.
        if (tool._meta["toolgate/billable"])
          expect(tool.description).toMatch(/On a retry, reuse the idempotency key/);
        else expect(tool.description).not.toMatch(/idempotency/);
        expect(tool.inputSchema).toMatchObject({ type: "object" });
        expect(tool.description).toMatch(/./);
      }
      expect(tools.slice(0, 3).map((tool: { _meta: object }) => tool._meta)).toEqual(
        [false, false, true].map((paid) => expect.objectContaining({ "toolgate/billable": paid })),
      );
      expect(body.result).not.toHaveProperty("nextCursor");
    });

    it("rejects an unknown cursor", async () => {
      expectRpcError(await rpc(poor, "tools/list", { cursor: "x" }), -32602, /cursor/);
      expect((await rpc(poor, "tools/list", { cursor: "" })).body.result.tools).not.toEqual([]);
    });
  });

  describe("tools/call", () => {
    it("runs a free tool, with structured content and text", async () => {
      const answer = await callRpc(poor, "echo", { message: "hi" });
      expectResult(answer, {
        content: [{ type: "text", text: '{"echo":"hi"}' }],
        structuredContent: { echo: "hi" },
        isError: false,
      });
    });

    it("pays from the balance and returns the receipt in _meta", async () => {
      const { status, body } = await buyRpc(rich);
      expect(status).toBe(200);
      const { structuredContent, content, _meta } = body.result;
      expect(structuredContent.total.gib).toBeGreaterThan(10);
      expect(JSON.parse(content[0].text)).toEqual(structuredContent);
      const receipt = await world.get(rich, `/receipts/${_meta["toolgate/receipt"].receipt_id}`);
      expect(_meta["toolgate/receipt"]).toEqual(receipt.body);
    });

    it("treats missing arguments as empty", async () => {
      const { body } = await rpc(poor, "tools/call", { name: "get_status" });
      expect(body.result.structuredContent).toMatchObject({ status: "healthy", balance_usdc: "0.000000" });
    });

    it("returns invalid arguments to the model as a result", async () => {
      const answer = await callRpc(poor, "echo", { message: 1 });
      expectResult(answer, {
        content: [{ type: "text", text: expect.stringMatching(/^params\.message: /) }],
        isError: true,
      });
    });

    it("charges nothing for invalid arguments", async () => {
      const agent = await world.agent({ balance: 5_000n });
      const { body } = await callRpc(agent, PAID.tool, { model: 1 });
      expect(body.result.isError).toBe(true);
      expect((await world.get(agent, "/runs")).body.items).toEqual([]);
    });

    it.each(["nothing", "gpu_provision", "", "Echo"])(
      "returns an unknown tool error for %j",
      async (name) => {
        expectRpcError(await callRpc(poor, name, {}), -32602, /^Unknown tool: /);
      },
    );

    it("takes null for what is left out, and the same key for the same call", async () => {
      const nothing = { arguments: null, _meta: null };
      expect((await rpc(poor, "tools/call", { name: "get_status", ...nothing })).body.result.isError).toBe(
        false,
      );
      expect((await rpc(poor, "ping", null)).body.result).toEqual({});
      expect((await rpc(poor, "tools/list", { cursor: null, _meta: null })).body.result.tools).not.toEqual(
        [],
      );
      const agent = await world.agent({ balance: 5_000n });
      const call = (args: object, meta: object = {}) =>
        rpc(agent, "tools/call", {
          name: PAID.tool,
          arguments: { ...PAID.params, ...args },
          _meta: { "toolgate/idempotency_key": "once", ...meta },
        });
      const first = await call({});
      const none = { progressToken: null, "toolgate/payment_proof": null, "x402/payment": null };
      expect((await call({ dtype: null, batch_size: null }, none)).body).toEqual(first.body);
      const { body } = await world.call(
        agent,
        PAID.tool,
        { ...PAID.params, dtype: null },
        {
          body: { idempotency_key: "once", payment_proof: null },
        },
      );
      expect(body.receipt).toEqual(first.body.result._meta["toolgate/receipt"]);
      expectRpcResultError(
        await callRpc(poor, "echo", { message: null }),
        /params\.message: must be a string/,
      );
    });

    it("replays the stored result for a repeated Idempotency-Key, charged once", async () => {
      const agent = await world.agent({ balance: 5_000n });
      const headers = { "Idempotency-Key": "once" };
      const first = await buyRpc(agent, headers);
      const again = await buyRpc(agent, headers);
      expect(first.body.result._meta["toolgate/receipt"].debited_usdc_microusd).toBe(1000);
      expect(again.body).toEqual(first.body);
      const there = await world.call(agent, PAID.tool, PAID.params, { headers });
      expect(there.body.receipt).toEqual(first.body.result._meta["toolgate/receipt"]);
      expect((await world.get(agent, "/receipts")).body.items).toHaveLength(1);
    });
  });
});

describe("MCP: 202", () => {
  it.each([
    ["a notification", { jsonrpc: "2.0", method: "notifications/initialized" }],
    ["a cancellation", { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } }],
    [
      "a call that is sent as a notification",
      { jsonrpc: "2.0", method: "tools/call", params: { name: PAID.tool, arguments: PAID.params } },
    ],
    ["a response", { jsonrpc: "2.0", id: 1, result: {} }],
    ["an error response", { jsonrpc: "2.0", id: 1, error: { code: 1, message: "no" } }],
  ])("accepts %s and returns no body", async (_, body) => {
    const runs = async () => (await world.get(rich, "/runs?limit=100")).body.items.length;
    const before = await runs();
    const answer = await mcp(rich, body);
    expect(answer.status).toBe(202);
    expect(answer.body).toBeUndefined();
    expect(await runs()).toBe(before);
  });
});

async function mcpText(body: string): Promise<Answer> {
  const headers = { Authorization: `Bearer ${poor.apiKey}`, "Content-Type": "application/json" };
  const response = await fetch(`${world.gateway.baseUrl}/mcp`, { method: "POST", headers, body });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** The plain error body merged with a JSON-RPC error, of no request unless its id can be read. */
function expectUnreadable(answer: Answer, code: number, says: RegExp, sent: unknown = null): void {
  const { jsonrpc, id, error, ...plain } = answer.body;
  expect({ jsonrpc, id }).toEqual({ jsonrpc: "2.0", id: sent });
  expectError({ ...answer, body: plain }, 400, "INVALID_REQUEST", says);
  expect(error).toEqual({ code, message: plain.message, data: plain });
}

describe("MCP: 400", () => {
  it.each([
    ["neither shape", {}],
    ["JSON-RPC members without a version", { id: 1, method: "ping" }],
  ])("rejects %s with the plain error body", async (_, body) => {
    expectError(await mcp(poor, body), 400, "INVALID_REQUEST");
  });

  it.each([
    ["JSON-RPC 1.0", { jsonrpc: "1.0", id: 1, method: "ping" }],
    ["a version that is a number", { jsonrpc: 2, id: 1, method: "ping" }],
    ["both shapes at once", { jsonrpc: "2.0", tool: "echo", params: { message: "hi" } }],
    ["a method that is no string", { jsonrpc: "2.0", id: 1, method: 1 }],
    ["params that are a list", { jsonrpc: "2.0", id: 1, method: "ping", params: [] }],
    ["an id that is null", { jsonrpc: "2.0", id: null, method: "ping" }],
    ["an id that is an object", { jsonrpc: "2.0", id: {}, method: "ping" }],
    ["an id alone", { jsonrpc: "2.0", id: 1 }],
  ])("rejects %s as an invalid request", async (_, body) => {
    const answer = await mcp(poor, body);
    expect(answer.status).toBe(400);
    expectUnreadable(answer, -32600, /JSON-RPC/, "id" in body && body.id === 1 ? 1 : null);
  });

  it.each(["null", "1", '"ping"'])("rejects %s as an invalid request", async (body) => {
    expectUnreadable(await mcpText(body), -32600, /^body: is not a JSON-RPC 2.0 request: must be an object$/);
  });

  it.each(["1e400", "9007199254740993", "-123456789012345678901234567890"])(
    "rejects the id %s, which JSON cannot return unchanged",
    async (id) => {
      const answer = await mcpText(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
      expectUnreadable(answer, -32600, /: id must be a string or a number up to 2\^53 - 1$/);
    },
  );

  it("rejects params that are a text and asks to omit them, with the id of the request", async () => {
    const answer = await mcpText('{"jsonrpc":"2.0","id":"a","method":"ping","params":"p"}');
    expectUnreadable(answer, -32600, /: params must be an object; omit it when there are none$/, "a");
  });

  it.each(["2025-11-2", "2024-01-01", "2027-01-01", "2025-11-25, 2025-11-25"])(
    "rejects the version %j of the header and lists the supported ones",
    async (version) => {
      const headers = { "MCP-Protocol-Version": version };
      for (const body of [
        { jsonrpc: "2.0", id: 1, method: "ping" },
        { jsonrpc: "2.0", method: "notifications/initialized" },
      ]) {
        const answer = await mcp(poor, body, headers);
        expect(answer.status).toBe(400);
        const supported = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
        expect(answer.body.error).toMatchObject({ code: -32022, data: { supported, requested: version } });
      }
    },
  );

  it.each([
    ['{"jsonrpc":"2.0",', /^body: must be JSON in UTF-8$/],
    ["nonsense", /^body: must be JSON in UTF-8$/],
    ["", /^body: is missing$/],
  ])("returns a parse error for %j in both error formats", async (body, says) => {
    expectUnreadable(await mcpText(body), -32700, says);
  });
});

describe("MCP: 401", () => {
  it("requires a key for every method before reading the body", async () => {
    for (const body of [
      { jsonrpc: "2.0", id: 1, method: "initialize" },
      { tool: "echo", params: {} },
      "nonsense",
    ]) {
      const answer = await mcp(undefined, body);
      expectError(answer, 401, "UNAUTHORIZED", /Authorization/);
      expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer realm="toolgate", resource_metadata="/);
    }
    expectError(
      await mcp(undefined, {}, { Authorization: "Bearer sk-agent-unknown" }),
      401,
      "UNAUTHORIZED",
      /unknown, has expired or was revoked/,
    );
  });

  it("returns 404 to OAuth clients that guess addresses", async () => {
    expectError(await world.get(undefined, "/.well-known/openid-configuration"), 404, "NOT_FOUND");
    expectError(await world.post(undefined, "/register", {}), 404, "NOT_FOUND");
  });
});

describe("MCP: 402", () => {
  it("returns 402 for tools/call only", async () => {
    for (const method of ["initialize", "ping", "tools/list", "resources/list"]) {
      expect((await rpc(poor, method, { protocolVersion: "2025-11-25" })).status).toBe(200);
    }
  });
});
