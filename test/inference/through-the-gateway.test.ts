import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { watch } from "../contract/mcp-client.ts";
import { useWorld } from "../support/use-world.ts";
import { request, type Agent, type Answer } from "../support/world.ts";
import { callGrpc, grpcClient } from "../transport/grpc-client.ts";
import { json, modelServer, type ModelServer } from "./model-server.ts";
import { startOddServer, type OddServer } from "./odd-server/start.ts";

/** Upstreams that answer, fail, stall and lie, behind a complete gateway. */
const BALANCE = 1_000_000n;
const TERMS = {
  input_usd_per_million: 0.2,
  output_usd_per_million: "0.60",
  context_length: 1_000,
  max_output_tokens: 500,
};
/** Whose answers may be of the longest. */
const WIDE = { output_usd_per_million: "0.01", context_length: 1_000_000, max_output_tokens: 500_000 };
const DETAILED = { cached_input_usd_per_million: 0.05, reasoning_usd_per_million: 3 };
/** Models of the upstream `first`, named after their behaviour. */
const FIRST = [
  "good",
  "busy",
  "busy-long",
  "fails",
  "echoes-key",
  "longest",
  "more-than-asked",
  "usage-detailed",
];
/** 11 tokens of the prompt at 0.2 and 2 of the answer at 0.6, as counted: 3.4, rounded up. */
const COUNTED = 4n;
/** Not counted: 5 tokens * 0.2 for the prompt, 2 if it was cut, and 0.6 for each token of the text. */
const [NO_TEXT, CUT, ALL_ASKED, LONGEST] = [1n, 1n, 61n, 329n];
/** (64 + 8 + 4) * 0.2 + 100 * 0.6 = 75.2 micro-USD, rounded up. */
const PRICE = 76n;
/**
 * Endings with text, finish reason and charge; undefined: a failure. Never more than two failures in a row,
 * which would open the circuit breaker.
 */
const ENDINGS: readonly (readonly [
  behaviour: string,
  content?: string,
  reason?: string | null,
  charge?: bigint,
])[] = [
  ["reasoned-too-long", "", "length", COUNTED],
  ["silent"],
  ["empty", "", "stop", NO_TEXT],
  ["cut"],
  ["counted-only", "", null, COUNTED],
  ["headers-only"],
  ["tool-calls", "", "stop", COUNTED],
  ["html"],
  ["counted-then-cut", "Fo", "connection_lost", COUNTED],
  ["done-only"],
  ["stall", "Fo", "timeout", CUT],
  ["error-in-stream"],
  // Its first chunk has more than was asked for.
  ["too-long", "x".repeat(256 * 1024), "length", ALL_ASKED],
  ["ends-early"],
  ["good", "Four.", "stop", COUNTED],
];
/** Only a time limit ends these: a short one would end the others too on a busy machine. */
const ENDLESS: ReadonlySet<string> = new Set(["silent", "headers-only", "stall"]);
const KEY = "sk-first-0123456789abcdef";

let folder: string;
let server: OddServer;
let lists: ModelServer | undefined;
/** Response of the upstream without a table. */
let listed = 500;
let agent: Agent;

const world = useWorld(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-inference-"));
  server = await startOddServer();
  lists = await modelServer((response) =>
    json(response, listed, { data: [{ id: "listed", max_model_len: 300 }] }),
  );
  const first = {
    name: "first",
    api_key_env: "TOOL_FIRST_KEY",
    models: [
      ...FIRST.map((id) => ({
        ...{ id, ...TERMS },
        ...(id === "usage-detailed" && DETAILED),
        ...(id === "longest" && WIDE),
      })),
      { id: "pair", upstream_model: "overloaded", ...TERMS },
    ],
  };
  const endings = ENDINGS.map(([behaviour]) => ({
    id: `ends-${behaviour}`,
    upstream_model: behaviour,
    ...TERMS,
  }));
  const isEndless = (model: { upstream_model: string }) => ENDLESS.has(model.upstream_model);
  const second = { name: "second", models: [{ id: "pair", upstream_model: "good", ...TERMS }] };
  return settings("shop.json", {
    upstreams: [
      ...[first, second],
      { name: "endless", timeout_ms: 3_000, stall_timeout_ms: 300, models: endings.filter(isEndless) },
      { name: "endings", models: endings.filter((model) => !isEndless(model)) },
    ],
  });
});
afterAll(async () => {
  await server?.close();
  await lists?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  agent = await world.agent({ balance: BALANCE });
});

/** Environment of a gateway with this `inference` section. */
async function settings(name: string, inference: object): Promise<Record<string, string>> {
  const file = path.join(folder, name);
  await writeFile(file, JSON.stringify({ inference }));
  return { TOOLGATE_CONFIG: file, INFERENCE_BASE_URL: server.baseUrl, TOOL_FIRST_KEY: KEY };
}

const params = (model: string, max_tokens = 100) => ({
  ...{ model, max_tokens },
  messages: [{ role: "user", content: "2+2?" }],
});

function chat(model: string, who = agent): Promise<Answer> {
  return world.call(who, "inference_chat", params(model));
}

/** Checks the charges, newest first, and the balance after them. */
async function expectCharged(...amounts: readonly bigint[]): Promise<void> {
  const { items } = (await world.get(agent, "/receipts")).body;
  expect(items.map((item: Record<string, unknown>) => item["debited_usdc_microusd"])).toEqual(
    amounts.map(Number),
  );
  const { body } = await world.call(agent, "get_status", {});
  const charged = amounts.reduce((sum, amount) => sum + amount, 0n);
  expect(Math.round(Number(body.result.balance_usdc) * 1e6)).toBe(Number(BALANCE - charged));
}

interface ListedTool {
  name: string;
  status: string;
  description: string;
  input_schema: { properties: { model: { enum: string[]; description: string } } };
}

async function offered(gateway = world.gateway): Promise<ListedTool> {
  const { body } = await request(gateway, undefined, "/mcp/capabilities", { method: "GET" });
  return body.tools.find(({ name }: ListedTool) => name === "inference_chat");
}

describe("inference_chat through the gateway", () => {
  it("quotes a ceiling, charges what the server counts up to it, and returns the answer whole", async () => {
    const { status, body } = await chat("good", await world.agent());
    expect([status, body.quote.price_usdc_microusd]).toEqual([402, Number(PRICE)]);
    expect(body.message).toMatch(/^This call costs at most \$0\.000076 .* stays on your balance$/);
    for (const [model, debited] of [
      ["good", COUNTED],
      ["more-than-asked", PRICE],
    ] as const) {
      const bought = await chat(model);
      expect(bought.body).toMatchObject({
        result: { type: "text", content: "Four.", model, finish_reason: "stop" },
        receipt: {
          quoted_usdc_microusd: Number(PRICE),
          debited_usdc_microusd: Number(debited),
          paid_by: "balance",
        },
      });
    }
    await expectCharged(PRICE, COUNTED);
  });

  it("charges cached and reasoning tokens at their own prices and reports them", async () => {
    const { body } = await chat("usage-detailed");
    expect(body.result.usage).toEqual({
      prompt_tokens: 11,
      completion_tokens: 2,
      total_tokens: 13,
      prompt_tokens_details: { cached_tokens: 8, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 1 },
    });
    // 3 * 0.2 + 8 * 0.05 + 1 * 0.6 + 1 * 3 = 4.6
    await expectCharged(5n);
  });

  it("reports progress over /mcp without partial answers", async () => {
    const { status, events } = await watch(world.gateway, agent, "inference_chat", params("good"));
    expect(status).toBe(200);
    const [asked, ...later] = events.slice(0, -1).map((event) => event.params);
    expect(asked).toEqual({ progressToken: "t", progress: 0, message: "the model was called" });
    expect(later.length).toBeGreaterThan(0);
    for (const { progress, message } of later)
      expect(message).toBe(`${progress} chunks of the answer received, about a token each`);
    expect(events.at(-1).result.structuredContent).toMatchObject({ type: "text", model: "good" });
    await expectCharged(COUNTED);
  });

  it("returns UNAVAILABLE without charge or hold while the only server is busy, then works", async () => {
    const busy = await chat("busy");
    expect(busy).toMatchObject({ status: 429, body: { code: "UNAVAILABLE" } });
    expect(busy.headers.get("retry-after")).toBe("1");
    expect(busy.body.message).toContain("nothing was charged");
    await expectCharged();
    for (const _ of [1, 2])
      expect(await chat("busy-long")).toMatchObject({ status: 429, body: { code: "UNAVAILABLE" } });
    expect(await server.asked("busy-long"), "the server is left alone").toBe(1);
    expect((await chat("good")).status, "but not for its other models").toBe(200);
    await server.become("busy", "good");
    await expect.poll(async () => (await chat("busy")).status, { interval: 200 }).toBe(200);
    await expectCharged(COUNTED, COUNTED);
  });

  const endings = ENDINGS.map(([behaviour, content, reason, charge]) => ({
    behaviour,
    content,
    reason,
    charge,
  }));
  it.each(endings)(
    "charges once or fails after this behaviour: $behaviour",
    async ({ behaviour, content, reason, charge = 0n }) => {
      const asked = await server.asked(behaviour);
      const key = { body: { idempotency_key: "once" } };
      const once = () => world.call(agent, "inference_chat", params(`ends-${behaviour}`), key);
      const first = await once();
      const again = await once();
      if (content === undefined) {
        for (const answer of [first, again]) {
          expect(answer).toMatchObject({ status: 500, body: { code: "TOOL_FAILED" } });
          expect(answer.body.message).toContain("nothing was charged");
        }
        expect(await server.asked(behaviour), "a repeat runs again").toBe(asked + 2);
        return expectCharged();
      }
      expect(first.status, JSON.stringify(first.body).slice(0, 500)).toBe(200);
      expect(first.body.result.finish_reason).toBe(reason);
      expect(first.body.result.content === content, "the text that came").toBe(true);
      expect(again.body.result.content === content && again.status === 200, "a repeat returns the same").toBe(
        true,
      );
      expect(again.body.receipt).toEqual(first.body.receipt);
      expect(await server.asked(behaviour)).toBe(asked + 1);
      return expectCharged(charge);
    },
  );

  it("never reveals the operator's key", async () => {
    const { status, body } = await chat("echoes-key");
    expect([status, body.code]).toEqual([500, "TOOL_FAILED"]);
    expect(JSON.stringify(body)).not.toContain(KEY);
    await expectCharged();
  });

  it("returns the longest answer over gRPC within its message limit", async () => {
    const client = grpcClient(world.gateway.grpcAddress);
    const metadata = { authorization: `Bearer ${agent.apiKey}` };
    const call = { tool: "inference_chat", params: params("longest", WIDE.max_output_tokens) };
    const { message } = await callGrpc(client, ToolService.method.callTool, call, { metadata });
    client.close();
    expect(message.result?.["content"]).toBe("ü".repeat(1024 * 1024));
    await expectCharged(LONGEST);
  });

  it("fails over to the next server when the first is busy, and charges once", async () => {
    const bought = await chat("pair");
    expect(bought.body, JSON.stringify(bought.body)).toMatchObject({
      result: { content: "Four.", model: "pair" },
    });
    await expectCharged(COUNTED);
  });

  it("rejects calls at once while the server keeps failing, and recovers", async () => {
    expect((await chat("good")).status).toBe(200);
    const failures: string[] = [];
    while (failures.at(-1) !== "UNAVAILABLE" && failures.length < 9)
      failures.push((await chat("fails")).body.code);
    expect(failures).toEqual([...Array.from({ length: 5 }, () => "TOOL_FAILED"), "UNAVAILABLE"]);
    expect(await server.asked("fails")).toBe(5);
    await expect.poll(async () => (await chat("good")).status, { interval: 200 }).toBe(200);
    await expectCharged(COUNTED, COUNTED);
  });
});

describe("offered models", () => {
  it("lists each model in the schema with limits and prices", async () => {
    const { status, input_schema } = await offered();
    const { model } = input_schema.properties;
    expect(status).toBe("active");
    const all = [...FIRST, "pair", ...ENDINGS.map(([behaviour]) => `ends-${behaviour}`)];
    expect([...model.enum].sort()).toEqual(all.sort());
    expect(model.description.split("\n")).toContain(
      "pair: context 1000 tokens, answer at most 500; USD 0.2 per million tokens of the prompt, 0.6 " +
        "of the answer",
    );
  });

  it("is unavailable while the only server is down, and available once it answers", async () => {
    const upstreams = [{ name: "late", base_url: lists?.baseUrl }];
    const gateway = await world.startAnother(await settings("late.json", { upstreams }));
    const call = {
      method: "POST",
      body: JSON.stringify({ tool: "inference_chat", params: params("listed") }),
    };
    expect(await offered(gateway)).toMatchObject({ status: "coming_soon" });
    const early = await request(gateway, agent, "/v1/mcp/tools/call", call);
    expect(early).toMatchObject({ status: 404, body: { code: "TOOL_UNAVAILABLE" } });
    listed = 200;
    await expect.poll(async () => (await offered(gateway)).status).toBe("active");
    const { input_schema } = await offered(gateway);
    expect(input_schema.properties.model.enum).toEqual(["listed"]);
    const quoted = await request(gateway, await world.agent(), "/v1/mcp/tools/call", call);
    expect(quoted.status).toBe(402);
  });
});
