import { connect } from "node:http2";
import process from "node:process";
import { create, toBinary } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, it } from "vitest";
import { CallToolRequestSchema } from "#gen/toolgate/v1/tool_service_pb.ts";
import { request, type Agent } from "../support/world.ts";
import { parsingMs, useExpensiveWorld } from "./costs/expensive-world.ts";
import { endOf, framed, rawCall } from "../transport/grpc/raw-call.ts";

/** What unpaid requests cost the event loop, and what limits them. */

const { world, metric } = useExpensiveWorld();
let agent: Agent;
beforeAll(async () => {
  agent = await world.agent();
});

/** CPU time of the event loop for a refused or unpaid request, ms. */
async function msOf(work: () => Promise<Outcome>): Promise<number> {
  const before = await metric("toolgate_unpaid_time_seconds_total");
  expect(REFUSED).toContain((await work()).status);
  return ((await metric("toolgate_unpaid_time_seconds_total")) - before) * 1000;
}

interface Outcome {
  readonly status: number | undefined;
}

/** INVALID_ARGUMENT, RESOURCE_EXHAUSTED; in MCP a tool's refusal is a result. */
const REFUSED = [3, 8, 200, 400, 402, 413];

/** Bytes of the small and of the large messages. */
const [SMALL, LARGE] = [60_000, 1_000_000];

const list = (bytes: number, item: string) => `[${`${item},`.repeat(bytes / (item.length + 1) - 1)}${item}]`;
const members = (bytes: number) =>
  Array.from({ length: bytes / 14 }, (_, index) => `"member${1000 + index}":1`).join();
let addresses = 0;
/** Each time from another address. */
const post = (path: string, body: string, caller?: Agent) =>
  request(
    world.gateway,
    caller,
    path,
    { method: "POST", body },
    { "X-Forwarded-For": `10.0.${++addresses >> 8}.${addresses & 255}` },
  );
const keyed = (path: string) => (body: string) => post(path, body, agent);
const [CALL, CHAT] = [keyed("/v1/mcp/tools/call"), keyed("/openai/v1/chat/completions")];
const CALL_TOOL = "/toolgate.v1.ToolService/CallTool";
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);
/** Their time is that of an address. */
const SMALL_TIER = { ratePerMinute: 100, burst: 1_000 };
const prompt = `"messages":[{"role":"user","content":"hi"}]`;
const LONG_MESSAGE = `{"role":"user","content":"${"word ".repeat(1_000)}"}`;
const functions = (parameters: string) =>
  `"tools":[{"type":"function","function":{"name":"f","parameters":{"x":${parameters}}}}]`;

async function grpc(length: number, caller = agent): Promise<Outcome> {
  const session = connect(`http://${world.gateway.grpcAddress}`);
  const stream = rawCall(session, CALL_TOOL, { authorization: `Bearer ${caller.apiKey}` });
  const params = { message: Array.from({ length }, () => ({})) };
  stream.end(
    framed(toBinary(CallToolRequestSchema, create(CallToolRequestSchema, { tool: "echo", params }))),
  );
  const { status } = await endOf(stream);
  session.close();
  return { status };
}

const chatCall = (content: string) => `{"tool":"inference_chat","params":{"model":"cheapest",${content}}}`;
const mcpCall = (message: string) =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":${message}}}}`;

const pattern = (text: string) => post("/x402/pattern", JSON.stringify({ body: { value: `${text}!` } }));

const EXPENSIVE: readonly [name: string, work: () => Promise<Outcome>][] = [
  [
    "unique items without a key",
    () => post("/x402/unique", JSON.stringify({ body: { value: numbers(5_500).map((a) => ({ a })) } })),
  ],
  ["a pattern without a key", () => pattern("a ".repeat(29_000))],
  ["a pattern and a short text", () => pattern("a".repeat(60))],
  ["a price without a key", () => post("/x402/priced", JSON.stringify({ body: { value: numbers(9_000) } }))],
  ...[SMALL, LARGE].flatMap((bytes): [string, () => Promise<Outcome>][] => [
    [
      `${bytes} bytes in Connect`,
      () => keyed(CALL_TOOL)(`{"tool":"echo","params":{"message":${list(bytes, "{}")}}}`),
    ],
    [`${bytes} bytes of a gRPC struct`, () => grpc(bytes / 4)],
    [`${bytes} bytes of unknown members`, () => CALL(`{${members(bytes)}}`)],
    [`${bytes} bytes of unknown params`, () => CALL(`{"tool":"echo","params":{${members(bytes)}}}`)],
    [`${bytes} bytes for a model`, () => CALL(chatCall(`"messages":${list(bytes, "{}")}`))],
    [`${bytes} bytes in MCP`, () => keyed("/mcp")(mcpCall(list(bytes, "{}")))],
    [`${bytes} bytes of an MCP batch`, () => keyed("/mcp")(list(bytes, "{}"))],
    [
      `${bytes} bytes of OpenAI tools`,
      () => CHAT(`{"model":"model-0",${prompt},${functions(list(bytes, "{}"))}}`),
    ],
    [`${bytes} bytes of OpenAI messages`, () => CHAT(`{"model":"model-0","messages":${list(bytes, "{}")}}`)],
  ]),
  [
    "as many values as allowed, for an alias",
    () => CHAT(`{"model":"cheapest",${prompt},${functions(list(70_000, "{}"))}}`),
  ],
  ["a megabyte of quotes", () => CALL('"'.repeat(LARGE))],
  ["a megabyte of escaped quotes", () => CALL(`{"tool":"${'\\"'.repeat(LARGE / 2)}"}`)],
  ["a long conversation", () => CHAT(`{"model":"cheapest","messages":${list(LARGE, LONG_MESSAGE)}}`)],
];

describe("an unpaid request", () => {
  it.each(EXPENSIVE)("takes less time than parsing a megabyte: %s", async (name, work) => {
    let [least, parsing] = [Infinity, 0];
    // Compilation, collection of garbage and a busy machine add to single requests.
    const ratio = async () => {
      least = Math.min(least, await msOf(work));
      parsing = parsingMs();
      return least / parsing;
    };
    await expect.poll(ratio).toBeLessThan(1);
    process.stdout.write(`${name}: ${least.toFixed(2)} ms; parsing ${parsing.toFixed(2)} ms\n`);
  });
});

describe("too much unpaid time", () => {
  const body = JSON.stringify({ body: { value: numbers(5_500).map((a) => ({ a })) } });
  const refusal = (whose: string) => ({
    status: 429,
    body: { code: "RATE_LIMITED", message: expect.stringContaining(`requests ${whose} that were not paid`) },
  });

  /** Sends many at once: one after the other on a busy machine takes less than the bucket gains meanwhile. */
  const together = (send: () => Promise<unknown>) => Promise.all(Array.from({ length: 20 }, send));

  it("refuses an address, by its head alone and no other one", async () => {
    const from = (address: string, sent = body) =>
      request(
        world.gateway,
        undefined,
        "/x402/unique",
        { method: "POST", body: sent },
        { "X-Forwarded-For": address },
      );
    const afterMany = async () => {
      await together(() => from("203.0.113.7"));
      return from("203.0.113.7", "not read");
    };
    await expect.poll(afterMany).toMatchObject(refusal("from your address"));
    expect((await from("203.0.113.8")).status).toBe(402);
    expect(await metric("toolgate_unpaid_time_refused_total")).toBeGreaterThan(0);
  });

  it("refuses the files of the console", async () => {
    const from = { "X-Forwarded-For": "203.0.113.10" };
    const page = async (headers: Record<string, string>) =>
      (await fetch(`${world.gateway.baseUrl}/console/tools`, { headers })).status;
    const next = async () => {
      await together(() => request(world.gateway, undefined, "/x402/unique", { method: "POST", body }, from));
      return page(from);
    };
    await expect.poll(next).toBe(429);
    expect(await page({})).toBe(200);
  });

  it("refuses documents, and closes the connection", async () => {
    const from = { "X-Forwarded-For": "203.0.113.9" };
    const next = async () => {
      await together(() => request(world.gateway, undefined, "/x402/unique", { method: "POST", body }, from));
      return world.get(undefined, "/openapi.json", from);
    };
    await expect.poll(async () => (await next()).status).toBe(429);
    const { headers, ...refused } = await next();
    expect(refused).toMatchObject(refusal("from your address"));
    expect([headers.get("connection"), headers.get("retry-after")]).toEqual([
      "close",
      expect.stringMatching(/^\d+$/),
    ]);
    expect((await world.get(undefined, "/openapi.json")).status).toBe(200);
  });

  it("refuses an account over each transport, and none of its paid calls takes time", async () => {
    const [poor, other] = [await world.agent(SMALL_TIER), await world.agent(SMALL_TIER)];
    const call = (caller: Agent) => world.call(caller, "unique", JSON.parse(body));
    const others = [
      () => post("/mcp", mcpCall("1"), poor),
      () => post(CALL_TOOL, "{}", poor),
      () => post("/openai/v1/chat/completions", "{}", poor),
      () => grpc(1, poor),
    ];
    for (const other of others) {
      const next = async () => {
        await together(() => call(poor));
        const { headers } = await call(poor);
        return [(await other()).status, headers.get("retry-after")];
      };
      const refused = [expect.toBeOneOf([429, 8]), expect.stringMatching(/^\d+$/)];
      await expect.poll(next).toEqual(refused);
    }
    expect((await call(other)).status).toBe(402);
  });
});
