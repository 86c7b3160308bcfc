import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import type { JsonObject } from "../../../../src/domain/core/json.ts";
import type { BackendOptions } from "../../../../src/tools/custom/backend-options.ts";
import { McpBackend } from "../../../../src/tools/custom/mcp/mcp-backend.ts";
import type { McpSection } from "../../../../src/tools/custom/mcp/mcp-backend.ts";
import {
  JSON_TYPE,
  NEWEST,
  reply,
  startLyingServer,
  startNewLyingServer,
  startOfficialServer,
  type Lie,
  type OfficialServer,
} from "./servers.ts";

type Settings = Partial<Omit<BackendOptions<McpSection>, "section">>;

const never = new AbortController().signal;

function open(url: string, tool: string, settings: Settings = {}): McpBackend {
  const backend = new McpBackend({
    tool: "odd_tool",
    section: { url, tool },
    headers: { authorization: "Bearer the-secret" },
    timeoutMs: 20_000,
    maxResponseBytes: 100_000,
    guard: { network: "public", allowHosts: new Set(["127.0.0.1"]) },
    ...settings,
  });
  onTestFinished(() => backend.close());
  return backend;
}

async function call(backend: McpBackend, params: JsonObject = {}, signal = never): Promise<JsonObject> {
  const { result } = await backend.call(params, { signal, idempotencyKey: "run_1" });
  return result;
}

describe.each(["stateful", "stateless"] as const)("tool of a %s MCP server", (kind) => {
  let server: OfficialServer;

  beforeAll(async () => {
    server = await startOfficialServer(kind);
  });
  afterAll(() => server.close());

  it("is found on any page of tools/list", async () => {
    expect(await open(server.url, "add").describe(never)).toMatchObject({
      description: "Adds two numbers.",
      inputSchema: { type: "object", required: ["a", "b"] },
    });
    expect((await open(server.url, "flood").describe(never)).description).toBeUndefined();
    await expect(open(server.url, "none").describe(never)).rejects.toThrow("has no tool none");
  });

  it("returns its structured content", async () => {
    expect(await call(open(server.url, "add"), { a: 1, b: 2 })).toEqual({ sum: 3 });
  });

  it("returns its content blocks if nothing is structured", async () => {
    expect(await call(open(server.url, "say"))).toEqual({
      content: [
        { type: "text", text: '{"looks":"like JSON"}' },
        { type: "image", data: "AAEC", mimeType: "image/png" },
        { type: "text", text: "and more" },
      ],
      text: '{"looks":"like JSON"}\nand more',
    });
  });

  it("receives the operator's headers and the run as Idempotency-Key over one session", async () => {
    const backend = open(server.url, "add");
    await call(backend, { a: 1, b: 2 });
    const before = server.seen.length;
    await Promise.all([call(backend, { a: 3, b: 4 }), call(backend, { a: 5, b: 6 })]);
    expect(server.seen.slice(before).map(({ message }) => message.method)).toEqual([
      "tools/call",
      "tools/call",
    ]);
    expect(server.calls().at(-1)?.headers).toMatchObject({
      authorization: "Bearer the-secret",
      "idempotency-key": "run_1",
    });
    // No standalone stream is opened.
    expect(server.seen.filter(({ method }) => method === "GET")).toEqual([]);
  });

  it.each([
    ["throw", "the server did not answer the call", "the reason why", false],
    ["lie", "the server did not answer the call", "does not match the tool's output schema", true],
  ])("charges nothing for %s and hides the server's words", async (tool, message, cause, worked) => {
    await expect(call(open(server.url, tool))).rejects.toMatchObject({
      code: "TOOL_FAILED",
      message: `odd_tool: ${message}; nothing was charged`,
      cause: { message: expect.stringContaining(cause) },
      worked,
    });
  });

  it("hands on the words of a call that the server reports as failed", async () => {
    await expect(call(open(server.url, "fail"))).rejects.toMatchObject({
      code: "TOOL_FAILED",
      status: 400,
      message: "odd_tool: the server reported that the call failed: the reason why; nothing was charged",
      worked: true,
    });
  });

  it("replaces an oversized answer by a placeholder", async () => {
    const reason = "the answer is longer than 100000 bytes";
    expect(await call(open(server.url, "flood"))).toEqual({ omitted: "too_long", reason, bytes: null });
  });

  it("receives a cancellation when the caller aborts", async () => {
    const leaving = new AbortController();
    const failure = call(open(server.url, "wait"), {}, leaving.signal);
    await expect.poll(() => server.calls().at(-1)?.message.params?.name).toBe("wait");
    const { id } = server.calls().at(-1)!.message;
    leaving.abort();
    await expect(failure).rejects.toMatchObject({ code: "TOOL_FAILED" });
    const cancelled = { method: "notifications/cancelled", params: { requestId: id } };
    await expect.poll(() => server.seen.at(-1)!.message).toMatchObject(cancelled);
  });
});

describe("MCP sessions", () => {
  it("reopens an expired session and sends the call again", async () => {
    const server = await startOfficialServer("stateful");
    onTestFinished(() => server.close());
    const backend = open(server.url, "add");
    await call(backend, { a: 1, b: 1 });
    server.forget();
    expect(await call(backend, { a: 2, b: 2 })).toEqual({ sum: 4 });
    expect(server.calls()).toHaveLength(3);
    const ids = server.calls().map(({ headers }) => headers["mcp-session-id"]);
    expect(new Set(ids).size).toBe(2);
  });

  it("uses no session in the newest revision", async () => {
    const structuredContent = { sum: 3 };
    const server = await startNewLyingServer((response, id) =>
      reply(response, id, { ...NEWEST, content: [], structuredContent }),
    );
    onTestFinished(() => server.close());
    expect(await call(open(server.url, "odd"))).toEqual({ sum: 3 });
    const methods = server.seen.map(({ message }) => message.method);
    expect(new Set(methods)).toEqual(new Set(["server/discover", "tools/list", "tools/call"]));
  });

  it("ends the session with the tool", async () => {
    const server = await startOfficialServer("stateful");
    onTestFinished(() => server.close());
    const backend = open(server.url, "throw");
    await expect(call(backend)).rejects.toMatchObject({ code: "TOOL_FAILED" });
    await expect(call(backend)).rejects.toMatchObject({ code: "TOOL_FAILED" });
    await backend.close();
    const [first, second] = server.calls().map(({ headers }) => headers["mcp-session-id"]);
    expect(first).toBe(second);
    const ended = server.seen.filter(({ method }) => method === "DELETE");
    expect(ended.map(({ headers }) => headers["mcp-session-id"])).toContain(first);
  });

  it("shares one session among calls even if the first is aborted", async () => {
    const server = await startOfficialServer("stateful");
    onTestFinished(() => server.close());
    const backend = open(server.url, "add");
    await backend.describe(never);
    const leaving = new AbortController();
    const first = call(backend, { a: 1, b: 1 }, leaving.signal);
    const second = call(backend, { a: 2, b: 2 });
    leaving.abort();
    await expect(first).rejects.toMatchObject({ code: "TOOL_FAILED" });
    expect(await second).toEqual({ sum: 4 });
  });

  it("answers no requests of the server", async () => {
    const server = await startOfficialServer("stateful");
    onTestFinished(() => server.close());
    expect(await call(open(server.url, "beg"))).toMatchObject({ text: expect.stringContaining("-32601") });
    const [opened] = server.seen.filter(({ message }) => message.method === "initialize");
    expect(opened?.message.params).toMatchObject({ capabilities: {} });
  });
});

describe("misbehaving MCP servers", () => {
  const stream = { "content-type": "text/event-stream" };
  const answer = (id: number | undefined, result: object) =>
    `event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`;

  async function lying(lie: Lie, tool?: unknown) {
    const server = await startLyingServer(lie, tool);
    onTestFinished(() => server.close());
    return server;
  }

  it.each<[string, Lie]>([
    ["cuts the stream before its answer", (response) => response.writeHead(200, stream).end(": soon\n\n")],
    ["breaks the connection", (response) => response.destroy()],
    [
      "breaks the stream",
      (response) => response.writeHead(200, stream).write(": soon\n\n", () => response.destroy()),
    ],
    ["answers with no JSON", (response) => response.writeHead(200, JSON_TYPE).end("{")],
    [
      "answers with a page",
      (response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>"),
    ],
    ["answers with no result of a tool", (response, id) => reply(response, id, { content: "none" })],
    ["answers with an error of HTTP", (response) => response.writeHead(500).end("the reason why")],
    ["forgets a session that it never gave", (response) => response.writeHead(404).end()],
    ["leads elsewhere", (response) => response.writeHead(307, { location: "/mcp" }).end()],
    ["asks for a login", (response) => response.writeHead(401, { "www-authenticate": "Bearer" }).end()],
  ])("fails the call after one request if the server %s", async (_, lie) => {
    const server = await lying(lie);
    await expect(call(open(server.url, "odd"))).rejects.toMatchObject({
      code: "TOOL_FAILED",
      message: "odd_tool: the server did not answer the call; nothing was charged",
    });
    expect(server.calls()).toHaveLength(1);
    // No other requests, such as token discovery.
    expect(server.seen.every(({ method }) => method === "POST")).toBe(true);
  });

  it.each<[string, Lie]>([
    [
      "answers another request",
      (response, id) => response.writeHead(200, stream).write(answer(Number(id) + 1, {})),
    ],
    ["says nothing", () => {}],
    [
      "keeps the stream alive with nothing",
      (response) => response.writeHead(200, stream).write(": soon\n\n"),
    ],
  ])("waits until the time limit if the server %s", async (_, lie) => {
    const closed = vi.fn();
    const limit = new AbortController();
    const server = await lying((response, id) => {
      response.on("close", closed);
      lie(response, id);
      // Not before the server is asked, which takes a busy machine longer than the limit.
      setTimeout(() => limit.abort(new DOMException("time is over", "TimeoutError")), 150);
    });
    const backend = open(server.url, "odd", { timeoutMs: 150 });
    await backend.describe(never);
    await expect(call(backend, {}, limit.signal)).rejects.toMatchObject({
      message: expect.stringContaining("within 0.15 s"),
    });
    // The stream does not stay open.
    await expect.poll(() => closed).toHaveBeenCalled();
    expect(server.calls()).toHaveLength(1);
  });

  it.each([
    [
      "says that headers did not match, as if it had not looked at the call",
      { code: -32_020, message: "mismatch" },
    ],
    ["asks for input instead", undefined],
  ])("sends one call in the newest revision if the server %s", async (_, error) => {
    const result = { resultType: "input_required", inputRequests: { a: { method: "roots/list" } } };
    const server = await startNewLyingServer((response, id) => {
      if (!error) return reply(response, id, result);
      response.writeHead(400, JSON_TYPE).end(JSON.stringify({ jsonrpc: "2.0", id, error }));
    });
    onTestFinished(() => server.close());
    await expect(call(open(server.url, "odd"))).rejects.toMatchObject({ code: "TOOL_FAILED" });
    expect(server.calls()).toHaveLength(1);
    expect(server.calls()[0]?.headers).toMatchObject({
      "mcp-protocol-version": "2026-07-28",
      "mcp-name": "odd",
    });
  });

  it("stops reading an endless answer", async () => {
    const server = await lying((response) => {
      response.writeHead(200, stream);
      const more = () =>
        void (response.destroyed || response.write(`: ${"x".repeat(50_000)}\n\n`, () => setImmediate(more)));
      more();
    });
    await expect(call(open(server.url, "odd"))).resolves.toMatchObject({ omitted: "too_long" });
    expect(server.calls()).toHaveLength(1);
  });

  it.each([
    [429, { "retry-after": "7" }, 7],
    [503, {}, 2],
    [503, { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" }, 1],
  ])("backs off if the server answers %s with %o", async (status, headers, seconds) => {
    const server = await lying((response) => response.writeHead(status, headers).end());
    await expect(call(open(server.url, "odd"))).rejects.toMatchObject({
      code: "UNAVAILABLE",
      status,
      retryAfterSeconds: seconds,
    });
    expect(server.calls()).toHaveLength(1);
  });

  it.each([
    ["takes no object", { name: "odd", inputSchema: { type: "string" } }, "takes no object of parameters"],
    ["has no schema of JSON", { name: "odd", inputSchema: [] }, "describes the tool odd wrongly"],
    [
      "returns a result that is slow to validate",
      {
        name: "odd",
        inputSchema: { type: "object" },
        outputSchema: { type: "object", $ref: "#/$defs/nothing" },
      },
      "resolve reference",
    ],
    [
      "refers to elsewhere",
      {
        name: "odd",
        inputSchema: { type: "object", properties: { a: { $ref: "http://127.0.0.1/schema" } } },
      },
      "refers to http://127.0.0.1/schema; schemas must hold all that they refer to",
    ],
  ])("does not offer a tool that %s", async (_, tool, problem) => {
    const server = await lying(() => {}, tool);
    await expect(open(server.url, "odd").describe(never)).rejects.toThrow(problem);
  });

  it.each<[string, unknown, JsonObject]>([
    ["no schema", {}, { type: "object" }],
    ["a schema without a type", { inputSchema: { required: ["a"] } }, { type: "object", required: ["a"] }],
    ["a schema that allows null", { inputSchema: { type: ["object", "null"] } }, { type: "object" }],
    [
      "null for what it leaves out, and members of other revisions",
      {
        ...{ title: null, description: null, annotations: null, _meta: null, execution: {}, icons: "none" },
        inputSchema: { type: "object", properties: null, required: null },
        outputSchema: null,
      },
      { type: "object", properties: null, required: null },
    ],
  ])("reads a tool with %s, beside entries that it cannot read", async (_, members, inputSchema) => {
    const found = { name: "odd", ...(members as object) };
    const server = await lying(
      (response, id) => reply(response, id, { content: [] }),
      [
        null,
        { name: 5, inputSchema: "none" },
        { name: "other", inputSchema: { type: "string" }, outputSchema: { type: "strange" } },
        found,
      ],
    );
    const described = await open(server.url, "odd").describe(never);
    expect(described).toEqual({ description: undefined, inputSchema });
    expect(await call(open(server.url, "odd"))).toEqual({ content: [], text: "" });
  });

  it("returns blocks and members that it does not know, and null as absent", async () => {
    const content = [
      { type: "text", text: "cited", citations: [{ url: "https://example.com" }], annotations: null },
      { type: "ui_card", html: "<p>" },
      { type: "resource", resource: { uri: "a:b", bytes: [1] } },
    ];
    const answer = { content, structuredContent: null, isError: null, _meta: { used: 3 } };
    const server = await lying((response, id) => reply(response, id, answer));
    const options = { signal: never, idempotencyKey: "run_1" };
    expect(await open(server.url, "odd").call({}, options)).toEqual({
      result: { content, text: "cited" },
      meta: { used: 3 },
    });
  });

  it("returns structured content that is no object", async () => {
    const server = await startNewLyingServer((response, id) =>
      reply(response, id, { ...NEWEST, content: [], structuredContent: [1, 2] }),
    );
    onTestFinished(() => server.close());
    const result = { content: [], text: "", structuredContent: [1, 2] };
    expect(await call(open(server.url, "odd"))).toEqual(result);
  });

  it("limits the time for a catastrophic pattern of the server", async () => {
    const outputSchema = { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } };
    const structuredContent = { a: `${"a".repeat(40)}!` };
    const server = await lying((response, id) => reply(response, id, { content: [], structuredContent }), {
      name: "odd",
      inputSchema: { type: "object" },
      outputSchema,
    });
    await expect(call(open(server.url, "odd"))).rejects.toMatchObject({
      code: "TOOL_FAILED",
      cause: { message: expect.stringContaining("took longer than 200 ms") },
    });
  });

  it("blocks private networks unless the host is allowed", async () => {
    const server = await lying((response, id) => reply(response, id, { content: [] }));
    const failure = call(open(server.url, "odd", { guard: { network: "public" } }));
    await expect(failure).rejects.toMatchObject({ code: "TOOL_FAILED" });
    expect(server.seen).toEqual([]);
  });
});
