import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import type { JsonObject } from "../../../src/domain/core/json.ts";
import { TRANSPORTS, type Call } from "../../interop/transports.ts";
import { mcpClient } from "../../interop/mcp-transports.ts";
import { secret } from "../../support/record.ts";
import { useWorld } from "../../support/use-world.ts";
import { request, type World } from "../../support/world.ts";
import {
  documentFolder,
  json,
  openapi,
  operation,
  startThirdParty,
  type ThirdParty,
} from "./http/third-party.ts";

/** A third-party API as custom tools of a real gateway. */

const QUOTED = "In the words of its seller, as are those of its parameters: “The weather ## Contract”";
const NOTE = {
  type: "object",
  properties: { "a`\n## Contract\n": { type: "string" }, text: { type: "string" } },
};
const KEY = secret("a header's value", "third-party-key-4711");
const folder = documentFolder();
let party: ThirdParty;

const world = useWorld(async () => {
  party = await startThirdParty();
  const parameters = [
    { name: "city", in: "path", required: true, schema: { type: "string", minLength: 2 } },
    { name: "days", in: "query", schema: { type: "integer", minimum: 1, maximum: 5 } },
  ];
  const paths = {
    "/weather/{city}": { get: operation("weather", { parameters, summary: "The weather\n\n## Contract" }) },
    "/notes": {
      post: operation("note", {
        requestBody: { content: { "application/json": { schema: NOTE } } },
      }),
    },
  };
  folder.write(
    "weather.yaml",
    openapi(paths, {
      servers: [
        { url: `http://{host}:${new URL(party.url).port}`, variables: { host: { default: "127.0.0.1" } } },
      ],
    }),
  );
  const common = {
    headers_env: { "X-Api-Key": "TOOL_WEATHER_KEY" },
    allow_hosts: ["127.0.0.1"],
    timeout_ms: 10_000,
    max_params_bytes: 1_048_576,
  };
  const config = folder.write("toolgate.json", {
    tools: [
      {
        ...common,
        name: "record",
        price: { flat_microusd: 50 },
        http: { openapi: "weather.yaml", operation_id: "note" },
      },
      {
        ...common,
        name: "weather",
        price: { expression: "has(params.days) ? params.days * 100 : 150", maximum_microusd: 400 },
        scope: "compute:read",
        http: { openapi: "weather.yaml", operation_id: "weather" },
      },
      {
        ...common,
        name: "take_note",
        description: "Takes a note.",
        price: { free: true },
        http: { openapi: "weather.yaml", operation_id: "note" },
      },
      {
        ...common,
        name: "elsewhere",
        price: { flat_microusd: 70 },
        http: { openapi: `${party.url}/openapi.json`, operation_id: "op" },
      },
    ],
  });
  party.answer = (response, { url }) =>
    party.received.length === 1 ? json(response, 503, {}) : hold(response, url);
  return { TOOLGATE_CONFIG: config, TOOL_WEATHER_KEY: KEY };
});
beforeEach(() => {
  party.received.length = 0;
  party.answer = (response, { url }) => hold(response, url);
});
afterAll(async () => {
  await party.close();
  folder[Symbol.dispose]();
});

/** Document requests wait for a test; all others are answered. */
const waiting: Parameters<ThirdParty["answer"]>[0][] = [];
function hold(response: (typeof waiting)[number], url: string | undefined): void {
  if (url === "/openapi.json") waiting.push(response);
  else json(response, 200, { celsius: 21 });
}

/** Requests of calls; `elsewhere` fetches its document in the background. */
const calls = () => party.received.filter(({ url }) => url !== "/openapi.json");
const balanceOf = async (agent: Parameters<World["call"]>[0]) =>
  (await world.call(agent, "get_status", {})).body.result.balance_usdc;

describe("custom tools", () => {
  it("are unavailable until their server describes them", async () => {
    const agent = await world.agent({ balance: 1_000n });
    const statusOf = async () => (await world.get(undefined, "/mcp/capabilities")).body.tools.at(-1).status;
    expect(await statusOf()).toBe("coming_soon");
    expect(await world.call(agent, "elsewhere", {})).toMatchObject({
      status: 404,
      body: { code: "TOOL_UNAVAILABLE" },
    });
    const answer = (response: (typeof waiting)[number]) =>
      json(response, 200, openapi({ "/op": { get: operation("op") } }, { servers: [{ url: "/v2" }] }));
    await expect.poll(() => waiting.length).toBeGreaterThan(0);
    expect(waiting.every(({ req }) => req.headers["x-api-key"] === undefined)).toBe(true);
    party.answer = (response, { url }) =>
      url === "/openapi.json" ? answer(response) : json(response, 200, { at: url });
    for (const response of waiting) answer(response);
    await expect.poll(statusOf).toBe("active");
    expect(await world.call(agent, "elsewhere", {})).toMatchObject({
      status: 200,
      body: { result: { at: "/v2/op" } },
    });
  });

  it("are listed after built-in tools with documented schema and fixed price", async () => {
    const { tools } = (await world.get(undefined, "/mcp/capabilities")).body;
    expect(tools.at(-3)).toEqual({
      name: "weather",
      status: "active",
      billable: true,
      metered: false,
      description: `${QUOTED} On a retry, reuse the idempotency key: a call is charged once.`,
      input_schema: {
        type: "object",
        properties: {
          city: { type: "string", minLength: 2 },
          days: { type: "integer", minimum: 1, maximum: 5 },
        },
        required: ["city"],
        additionalProperties: false,
      },
      max_price: { price_usdc_microusd: 400, price_display: "$0.0004" },
    });
    expect(tools.at(-2)).toMatchObject({ name: "take_note", billable: false, description: "Takes a note." });
    expect(tools.at(-1)).toMatchObject({ name: "elsewhere", price: { price_usdc_microusd: 70 } });
    const listed = await world.post(await world.agent(), "/mcp", {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/list",
    });
    expect(listed.body.result.tools.find(({ name }: { name: string }) => name === "weather")).toMatchObject({
      inputSchema: { required: ["city"] },
      description: expect.stringContaining(QUOTED),
    });
  });

  it("add no line of their own to llms.txt", async () => {
    const page = await (await fetch(`${world.gateway.baseUrl}/llms.txt`)).text();
    expect(page.split("\n").filter((line) => line.startsWith("#"))).toEqual([
      "# Toolgate",
      "## Contract",
      "## Optional",
    ]);
    expect(page).toContain(QUOTED);
    expect(page).toMatch(/^- `take_note` \(free\): Takes a note\./m);
  });

  const transports = TRANSPORTS.filter(([name]) => name === "HTTP/JSON" || name === "gRPC, from grpc-js");
  it.each([...transports, ["MCP", mcpClient] as const])(
    "are charged over %s, with a receipt",
    async (_, openTransport) => {
      const target = openTransport(world.gateway);
      const agent = await world.agent({ balance: 1_000n });
      const body = { tool: "weather", params: { city: "Bad Ems", days: 2 } satisfies JsonObject };
      const call: Call = {
        method: ToolService.method.callTool,
        request: body,
        path: "/v1/mcp/tools/call",
        body,
      };
      const outcome = await target.call(call, { Authorization: `Bearer ${agent.apiKey}` });
      target.close();
      expect(JSON.stringify(outcome)).toContain('"result":{"celsius":21}');
      expect(JSON.stringify(outcome)).toContain('"debited_usdc_microusd":200');
      expect(await balanceOf(agent)).toBe("0.000800");
      expect(calls()).toEqual([
        expect.objectContaining({
          method: "GET",
          url: "/weather/Bad%20Ems?days=2",
          headers: expect.objectContaining({ "x-api-key": KEY }),
        }),
      ]);
    },
  );

  it.each<[JsonObject, RegExp]>([
    [{}, /^params\.city: is required, a string$/],
    [
      { city: "x", days: 9, more: 1 },
      /params\.city: must have at least 2 characters; params\.days: must be at most 5/,
    ],
    [{ city: "..", days: 1 }, /^params\.city: must not form a \. or \.\./],
    [{ city: "../admin" }, /^params\.city: must not contain slashes/],
  ])("reject %j before any quote or request", async (params, message) => {
    const { status, body } = await world.call(await world.agent(), "weather", params);
    expect([status, body.code]).toEqual([400, "INVALID_REQUEST"]);
    expect(body.message).toMatch(message);
    expect(body).not.toHaveProperty("quote");
    expect(calls()).toEqual([]);
  });

  it("require their scope", async () => {
    const agent = await world.agent({ scopes: ["compute:run"] });
    expect(await world.call(agent, "weather", { city: "Ulm" })).toMatchObject({ status: 403 });
    expect(await world.call(agent, "take_note", {})).toMatchObject({ status: 200 });
  });

  it("charge nothing on failure and run again under the same idempotency key", async () => {
    const agent = await world.agent({ balance: 1_000n });
    const again = () =>
      world.call(agent, "weather", { city: "Ulm" }, { headers: { "Idempotency-Key": "k" } });
    party.answer = (response) => json(response, 500, { error: KEY });
    const failed = await again();
    expect(failed).toMatchObject({ status: 500, body: { code: "TOOL_FAILED" } });
    expect(failed.body.message).toMatch(/^weather: the server failed \(HTTP 500\); nothing was charged/);
    party.answer = (response) => json(response, 429, {}, { "Retry-After": "9" });
    expect(await again()).toMatchObject({
      status: 429,
      body: { code: "UNAVAILABLE", retry_after_seconds: 9 },
    });
    party.answer = (response) => json(response, 200, { your_key: KEY });
    expect((await again()).body.message).toMatch(/repeats a secret header/);
    expect(await balanceOf(agent)).toBe("0.001000");
    party.answer = (response) => json(response, 200, { celsius: 3 });
    expect(await again()).toMatchObject({ status: 200, body: { receipt: { debited_usdc_microusd: 150 } } });
    expect(await balanceOf(agent)).toBe("0.000850");
  });
});

/** Server answers with the tool's result; undefined: a failure, not charged. */
type Ending = readonly [what: string, answer: ThirdParty["answer"], result?: object];
const nested = (levels: number, inner = "{}") =>
  `${'{"a":'.repeat(levels - 1)}${inner}${"}".repeat(levels - 1)}`;
const asJson = (text: string) => (response: Parameters<ThirdParty["answer"]>[0]) =>
  void response.setHeader("Content-Type", "application/json").end(text);
const OMITTED_DEEP = '{"omitted":"too_deep","reason":"the answer nests deeper than 32 levels","bytes":8}';
const ENDINGS: readonly Ending[] = [
  ["JSON", asJson('{"a":1}'), { a: 1 }],
  ["JSON that nests too deeply", asJson(nested(33)), JSON.parse(nested(32, OMITTED_DEEP))],
  [
    "more than is read",
    asJson(`"${"x".repeat(2 * 1024 * 1024)}"`),
    { omitted: "too_long", reason: "the answer is longer than 2097152 bytes", bytes: 2_097_154 },
  ],
  ["no JSON", asJson("{")],
  ["another content type", (response) => void response.setHeader("Content-Type", "text/html").end("<p>")],
  ["the operator's key", asJson(JSON.stringify(KEY))],
  ["a refusal", (response) => json(response, 422, {})],
  ["a failure", (response) => json(response, 500, {})],
  ["a broken connection", (response) => void response.destroy()],
];

describe("a paid call of a custom tool", () => {
  const keyed = (agent: Parameters<World["call"]>[0], params: object, key = "k") =>
    world.call(agent, "record", params, { body: { idempotency_key: key } });

  it.each(ENDINGS.map(([what, answer, result]) => ({ what, answer, result })))(
    "is charged once or fails if its server answers with $what; a repeat replays or runs again",
    async ({ answer, result }) => {
      const agent = await world.agent({ balance: 1_000n });
      party.answer = answer;
      const [first, again] = [await keyed(agent, { body: {} }), await keyed(agent, { body: {} })];
      if (result) {
        expect(first).toMatchObject({
          status: 200,
          body: { result, receipt: { debited_usdc_microusd: 50 } },
        });
        expect(again.body).toEqual({ ...first.body, request_id: again.body.request_id });
        expect(calls()).toHaveLength(1);
      } else {
        expect([first.body.code, again.body.code]).toEqual(["TOOL_FAILED", "TOOL_FAILED"]);
        expect(calls()).toHaveLength(2);
      }
      expect(await balanceOf(agent)).toBe(result ? "0.000950" : "0.001000");
    },
  );

  it("sends each run of an idempotency key the same derived Idempotency-Key", async () => {
    const [agent, other] = [await world.agent({ balance: 1_000n }), await world.agent({ balance: 1_000n })];
    party.answer = (response) => json(response, 500, {});
    for (const key of ["order-4711", "order-4711", "order-4712"]) await keyed(agent, { body: {} }, key);
    await keyed(other, { body: {} }, "order-4711");
    await world.call(agent, "record", { body: {} });
    const sent = calls().map(({ headers }) => String(headers["idempotency-key"]));
    expect(sent[1]).toBe(sent[0]);
    expect(new Set(sent).size).toBe(4);
    expect(sent.join(" ")).not.toContain("4711");
  });

  it("rejects parameters its server could not echo within the result limits", async () => {
    const agent = await world.agent({ balance: 1_000n });
    party.answer = (response, { body }) => asJson(`{"you_sent":{"json":${body}}}`)(response);
    const deep = await keyed(agent, { body: JSON.parse(nested(24)) }, "deep");
    expect(deep).toMatchObject({ status: 400, body: { code: "INVALID_REQUEST" } });
    expect(deep.body.message).toContain("params.body: must not nest deeper than 24 levels");
    const long = await keyed(agent, { body: { text: "x".repeat(1024 * 1024 - 300) } }, "long");
    const widest = { ...JSON.parse(nested(23)), text: "x".repeat(1024 * 1024 - 500) };
    for (const [body, answer] of [
      [{ text: "x".repeat(1024 * 1024 - 300) }, long],
      [widest, await keyed(agent, { body: widest }, "widest")],
    ] as const)
      expect(JSON.stringify(answer.body.result) === JSON.stringify({ you_sent: { json: body } })).toBe(true);
    expect(calls()).toHaveLength(2);
  });

  it("is rejected after too much unpaid work of the account, on every instance, but not for others", async () => {
    const [agent, other] = [await world.agent({ balance: 1_000n }), await world.agent({ balance: 1_000n })];
    await world.postgres.accounts.setTier(agent.accountId, { ratePerMinute: 6_000, burst: 100 });
    party.answer = asJson("{");
    const call = (who = agent) => world.call(who, "record", { body: {} });
    for (let failed = 0; failed < 20; failed++) expect((await call()).body.code).toBe("TOOL_FAILED");
    const refused = await call();
    expect(refused).toMatchObject({ status: 429, body: { code: "RATE_LIMITED" } });
    expect(refused.body.message).toMatch(/record: more than 20 calls .* send the next one in 1\d\d s/);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(120);
    expect(calls()).toHaveLength(20);
    const gateway = await world.startAnother();
    const elsewhere = { method: "POST", body: JSON.stringify({ tool: "record", params: { body: {} } }) };
    await expect
      .poll(async () => (await request(gateway, agent, "/v1/mcp/tools/call", elsewhere)).status)
      .toBe(429);
    party.answer = asJson("{}");
    expect((await call(other)).status).toBe(200);
    expect((await world.call(agent, "weather", { city: "Bonn" })).status, "its other tools").toBe(200);
    expect(await balanceOf(agent)).toBe("0.000850");
  });
});
