import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { mcp } from "../contract/mcp-client.ts";
import { useWorld } from "../support/use-world.ts";
import type { Agent } from "../support/world.ts";
import { callGrpc, grpcClient } from "../transport/grpc-client.ts";
import { json, modelServer, type ModelServer } from "./model-server.ts";
import type { Fixture } from "./servers/fixture.ts";
import { HOSTED } from "./servers/hosted.ts";
import { SELF_HOSTED } from "./servers/self-hosted.ts";

/** Answers that real servers document, through every transport. */
const FIXTURES = [...SELF_HOSTED, ...HOSTED];
const TERMS = {
  input_usd_per_million: 1,
  output_usd_per_million: 10,
  context_length: 100_000,
  max_output_tokens: 1_000,
};
const messages = [{ role: "user" as const, content: "2+2?" }];

const folder = mkdtempSync(path.join(os.tmpdir(), "toolgate-servers-"));
let upstream: ModelServer;
let agent: Agent;
const world = useWorld(async () => {
  upstream = await modelServer((response) => {
    const { model, stream } = JSON.parse(upstream.received.at(-1)?.body ?? "");
    const fixture = FIXTURES.find(({ server }) => model.startsWith(`${server}, `));
    if (!stream) return json(response, 200, fixture?.whole);
    const events = fixture?.chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");
    response.writeHead(200, { "Content-Type": "text/event-stream" }).end(`${events}data: [DONE]\n\n`);
  });
  const upstreams = ["whole", "streamed"].map((form) => ({
    name: form,
    stream: form === "streamed",
    models: FIXTURES.map(({ server }) => ({ id: `${server}, ${form}`, ...TERMS })),
  }));
  const file = path.join(folder, "config.json");
  writeFileSync(file, JSON.stringify({ inference: { upstreams } }));
  return { TOOLGATE_CONFIG: file, INFERENCE_BASE_URL: upstream.baseUrl };
});
beforeAll(async () => {
  agent = await world.agent({ balance: 100_000_000n });
});
afterAll(async () => {
  await upstream[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

// oxlint-disable-next-line typescript/no-explicit-any
type Result = any;

/** The transports of the tool call, whose result is that of the specification. */
const TOOL_CALLS: Readonly<Record<string, (model: string) => Promise<Result>>> = {
  "/v1": async (model) => (await world.call(agent, "inference_chat", { model, messages })).body.result,
  gRPC: async (model) => {
    const client = grpcClient(world.gateway.grpcAddress);
    const metadata = { authorization: `Bearer ${agent.apiKey}` };
    const request = { tool: "inference_chat", params: { model, messages } };
    const { message } = await callGrpc(client, ToolService.method.callTool, request, { metadata });
    client.close();
    return message.result;
  },
  Connect: async (model) => {
    const { baseUrl } = world.gateway;
    const client = createClient(ToolService, createConnectTransport({ baseUrl, httpVersion: "1.1" }));
    const headers = { authorization: `Bearer ${agent.apiKey}` };
    return (await client.callTool({ tool: "inference_chat", params: { model, messages } }, { headers }))
      .result;
  },
  MCP: async (model) => {
    const params = { name: "inference_chat", arguments: { model, messages } };
    const answer = await mcp(world.gateway, agent, { jsonrpc: "2.0", id: 1, method: "tools/call", params });
    return answer.body.result.structuredContent;
  },
};

const openai = () => new OpenAI({ baseURL: `${world.gateway.baseUrl}/openai/v1`, apiKey: agent.apiKey });

/** The members of a stream's chunks, merged as its reader merges them. */
async function streamed(model: string, headers: Record<string, string> = {}): Promise<Result> {
  const body = { model, messages, stream: true as const };
  const merged: Result = { choices: [{ message: {} }] };
  for await (const { choices, ...others } of await openai().chat.completions.create(body, { headers })) {
    const [{ delta, ...choice } = { delta: {} }] = choices;
    Object.assign(merged, others, { choices: [{ ...merged.choices[0], ...choice }] });
    addDelta(merged.choices[0].message, delta);
  }
  return merged;
}

function addDelta(message: Result, delta: Result): void {
  for (const [name, value] of Object.entries<Result>(delta)) {
    if (typeof value === "string" && name !== "role") message[name] = (message[name] ?? "") + value;
    else if (name === "tool_calls") for (const one of value) addCall((message[name] ??= []), one);
    else if (name === "reasoning_details")
      message[name] = [{ ...value[0], text: (message[name]?.[0].text ?? "") + value[0].text }];
    else message[name] = value;
  }
}

function addCall(calls: Result[], { index, function: { name, arguments: input }, ...more }: Result): void {
  const call = (calls[index] ??= { ...more, function: { name, arguments: "" } });
  call.function.arguments += input;
}

const OPENAI: Readonly<Record<string, (model: string) => Promise<Result>>> = {
  "/openai/v1": (model) => openai().chat.completions.create({ model, messages }),
  "/openai/v1, streamed": (model) => streamed(model),
  "/openai/v1, replayed": async (model) => {
    const headers = { "Idempotency-Key": model };
    await streamed(model, headers);
    const whole = await openai().chat.completions.create({ model, messages }, { headers });
    expect((await streamed(model, headers)).choices[0].message).toMatchObject(
      whole.choices[0]?.message ?? {},
    );
    return whole;
  },
};

function usageOf({ expected: { counts, usage } }: Fixture): object {
  const [prompt_tokens, completion_tokens] = counts;
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens, ...usage };
}

const CASES = FIXTURES.flatMap((fixture) =>
  ["whole", "streamed"].map((form) => ({ fixture, model: `${fixture.server}, ${form}` })),
);

describe.each(CASES)("the answer of $model", ({ fixture, model }) => {
  const { message, finishReason, choice, answer, counts } = fixture.expected;
  const { content, ...others }: Record<string, unknown> = { content: null, ...message };

  it.each(Object.entries(OPENAI))("is handed on and charged over %s", async (_, ask) => {
    const result = await ask(model);
    const cost_usdc_microusd = counts[0] + 10 * counts[1];
    expect(result).toMatchObject({
      ...answer,
      choices: [{ ...choice, finish_reason: finishReason }],
      usage: { ...usageOf(fixture), cost_usdc_microusd },
    });
    const [{ message: got }] = result.choices;
    expect({ ...got, content: got.content ?? null }).toMatchObject({ role: "assistant", content, ...others });
    expect(result.usage.receipt_id).toMatch(/^rcpt_.{20}/);
    expect([result.receipt_id, result.receipt.receipt_id]).toEqual([
      result.usage.receipt_id,
      result.receipt_id,
    ]);
    expect([result.usage.cost, result.usage.estimated, result.type]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it.each(Object.entries(TOOL_CALLS))("is handed on over %s", async (_, ask) => {
    const result = await ask(model);
    const { role: __, ...members } = others;
    expect(result).toMatchObject({
      ...answer,
      type: "text",
      content: content ?? "",
      usage: usageOf(fixture),
      ...(Object.keys(members).length > 0 && { message: members }),
    });
  });
});
