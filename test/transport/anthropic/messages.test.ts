import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../support/world.ts";
import { COUNTED, messages, QUOTED, useChatWorld } from "../openai/chat-world.ts";

/** Anthropic's Messages API in front of servers of chat completions. */

const chat = useChatWorld();
const { world, receipts } = chat;

const clientOf = ({ apiKey }: Agent, options: object = {}) =>
  new Anthropic({ baseURL: `${world.gateway.baseUrl}/anthropic`, apiKey, maxRetries: 0, ...options });
const post = (body: object, headers: Record<string, string> = {}, who: Agent | undefined = chat.agent) =>
  world.post(who, "/anthropic/v1/messages", { ...ask, ...body }, headers);
const sent = () => JSON.parse(chat.upstream.received.at(-1)?.body ?? "{}");
const ask = { model: "good", max_tokens: 500, messages };

describe("the official client", () => {
  it("gets a message with usage, charge and receipt", async () => {
    const answer = await clientOf(chat.agent).messages.create(ask);
    expect(answer).toMatchObject({
      id: expect.stringMatching(/^msg_/),
      type: "message",
      role: "assistant",
      model: "good",
      content: [{ type: "text", text: "Four." }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: { input_tokens: 11, output_tokens: 2, cost_usdc_microusd: COUNTED },
      receipt: { quoted_usdc_microusd: QUOTED, debited_usdc_microusd: COUNTED },
    });
    expect(await receipts()).toMatchObject([{ debited_usdc_microusd: COUNTED }]);
  });

  it("streams a message in the order of events", async () => {
    const types: string[] = [];
    const stream = clientOf(chat.agent).messages.stream(ask);
    stream.on("streamEvent", ({ type }) => types.push(type));
    const message = await stream.finalMessage();
    expect(message).toMatchObject({ content: [{ type: "text", text: "Four." }], stop_reason: "end_turn" });
    expect(message.usage).toMatchObject({ input_tokens: 11, output_tokens: 2 });
    expect(types).toEqual([
      "message_start",
      "content_block_start",
      "content_block_delta",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
    ]);
  });

  it("runs a loop of tools, also one that would keep its history on the server", async () => {
    const add = {
      type: "custom" as const,
      name: "add",
      description: "Adds.",
      input_schema: { type: "object" as const, properties: { a: { type: "number" }, b: { type: "number" } } },
      parse: (content: unknown) => content,
      run: (input: unknown) =>
        String(Number(Reflect.get(Object(input), "a")) + Number(Reflect.get(Object(input), "b"))),
    };
    for (const stream of [false, true]) {
      const runner = clientOf(chat.agent).beta.messages.toolRunner({
        ...ask,
        model: "tools",
        tools: [add],
        stream,
      });
      const { content, stop_reason } = await runner.runUntilDone();
      expect([stop_reason, content]).toMatchObject(["end_turn", [{ type: "text", text: "It is 4." }]]);
    }
    expect(sent().messages.slice(1)).toEqual([
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "add", arguments: '{"a":2,"b":2}' } },
        ],
      },
      { role: "tool", tool_call_id: "call_1", content: "4" },
    ]);
    const threaded = await post({ thread: { type: "create" } });
    expect([threaded.status, threaded.body.error.details]).toEqual([
      400,
      { error_code: "thread_unsupported_request" },
    ]);
  });

  it("counts tokens without charge, and lists models", async () => {
    const client = clientOf(chat.agent);
    const count = await client.messages.countTokens({ model: "good", messages });
    expect(count.input_tokens).toBe(5);
    const ids: string[] = [];
    for await (const { id } of client.models.list()) ids.push(id);
    expect(ids).toContain("claude-says");
    expect(ids).not.toContain("embeds-base64");
    expect(await client.models.retrieve("good")).toMatchObject({ id: "good", type: "model" });
    await expect(client.models.retrieve("no/such")).rejects.toBeInstanceOf(Anthropic.NotFoundError);
    expect(await receipts()).toEqual([]);
  });

  it("reads thoughts of the server as thinking", async () => {
    const stream = clientOf(chat.agent).messages.stream({ ...ask, model: "thinks-then-says" });
    expect((await stream.finalMessage()).content).toMatchObject([
      { type: "thinking", thinking: "Hm." },
      { type: "text", text: "Four." },
    ]);
  });
});

describe("what agents send whatever their settings", () => {
  it("is sent on or left out with a note", async () => {
    const search = { type: "web_search_20250305", name: "web_search" };
    const body = {
      system: [{ type: "text", text: "Be short.", cache_control: { type: "ephemeral" } }],
      messages: [...messages, { role: "system", content: "Today is Monday." }],
      max_tokens: 32_000,
      metadata: { user_id: "u" },
      thinking: { type: "adaptive", display: "omitted" },
      context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
      output_config: { effort: "high" },
      tools: [search, { name: "add", input_schema: { type: "object" }, defer_loading: true }],
      later_member: 1,
    };
    const betas = { "anthropic-beta": "claude-code-20250219,effort-2025-11-24" };
    const { status, body: answer } = await post(body, betas);
    expect([status, answer.notes]).toEqual([
      200,
      [
        "thinking: left out; servers of this model decide it",
        "context_management: left out; servers of this model lack it",
        "later_member: left out; the gateway does not know it",
        "max_tokens: lowered to 500, the most of the model",
        "tools.web_search: left out; no quote covers what it costs",
      ],
    ]);
    expect(sent()).toMatchObject({
      max_tokens: 500,
      messages: [
        { role: "system", content: "Be short." },
        { role: "user", content: "2+2?" },
        { role: "system", content: "Today is Monday." },
      ],
      reasoning_effort: "high",
      tools: [{ type: "function", function: { name: "add", parameters: { type: "object" } } }],
    });
    const forced = { ...body, tool_choice: { type: "tool", name: "web_search" } };
    const refused = await post(forced);
    expect([refused.status, refused.body.error]).toEqual([
      400,
      {
        type: "invalid_request_error",
        message: "tool_choice.name: web_search is not available for this model; choose another tool",
      },
    ]);
  });

  it("takes images as bytes, in the results of tools too", async () => {
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AA==" } };
    const result = {
      type: "tool_result",
      tool_use_id: "t",
      content: [{ type: "text", text: "seen" }, image],
    };
    const use = { type: "tool_use", id: "t", name: "look", input: {} };
    const turns = [
      ...messages,
      { role: "assistant", content: [use] },
      { role: "user", content: [result, image] },
    ];
    expect((await post({ model: "sees", messages: turns })).status).toBe(200);
    const part = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } };
    expect(sent().messages.slice(2)).toEqual([
      { role: "tool", tool_call_id: "t", content: "seen" },
      { role: "user", content: [part, part] },
    ]);
    const refused = await post({ messages: turns });
    expect([refused.status, refused.body.error.message]).toEqual([
      400,
      "messages: has images, which good does not take; send text",
    ]);
  });
});

describe("money", () => {
  it("replays the stored answer for a repeated key, whole or as a stream", async () => {
    const key = { headers: { "Idempotency-Key": "once" } };
    const client = clientOf(chat.agent);
    const asked = chat.upstream.received.length;
    const call = { ...ask, model: "tools" };
    const first = await client.messages.stream(call, key).finalMessage();
    const again = await client.messages.stream(call, key).finalMessage();
    const whole = await client.messages.create(call, key);
    expect(again).toEqual({ ...first, usage: again.usage });
    expect(whole).toMatchObject({ content: first.content, stop_reason: "tool_use" });
    expect([chat.upstream.received.length - asked, (await receipts()).length]).toEqual([1, 1]);
    const other = await post({}, key.headers);
    expect([other.status, other.body.code]).toEqual([422, "IDEMPOTENCY_MISMATCH"]);
  });

  it("ends a stream that broke off with an error, and replays it", async () => {
    const key = { headers: { "Idempotency-Key": "broken" } };
    const call = { ...ask, model: "dies-after-text" };
    const errors: unknown[] = [];
    for (const _ of [1, 2]) {
      const stream = clientOf(chat.agent).messages.stream(call, key);
      errors.push(await stream.finalMessage().catch((error: unknown) => error));
    }
    const words = /after 2 characters; charged: \$0.000001, receipt rcpt_/;
    expect(errors).toMatchObject([
      { message: expect.stringMatching(words) },
      { message: expect.stringMatching(words) },
    ]);
    const whole = await clientOf(chat.agent).messages.create(call, key);
    expect(whole).toMatchObject({ stop_reason: "max_tokens", original_stop_reason: "connection_lost" });
    expect(await receipts()).toHaveLength(1);
  });

  it("stops a server that goes on beyond max_tokens", async () => {
    const message = await clientOf(chat.agent)
      .messages.stream({ ...ask, model: "runs-on", max_tokens: 20 })
      .finalMessage();
    expect(message).toMatchObject({ stop_reason: "max_tokens", content: [{ text: "word ".repeat(21) }] });
    expect(await receipts()).toMatchObject([{ debited_usdc_microusd: 13 }]);
  });

  it("charges a caller that leaves for what was generated", async () => {
    const stream = clientOf(chat.agent).messages.stream({ ...ask, model: "floods" });
    for await (const { type } of stream) if (type === "content_block_delta") break;
    await expect.poll(async () => (await chat.lastRun())["status"]).toBe("completed");
    expect(await receipts()).toHaveLength(1);
  });
});

describe("errors", () => {
  it.each([
    [{ max_tokens: 0 }, "max_tokens"],
    [{ stream: 1 }, "stream"],
    [{ model: "unknown" }, "model"],
    [{ messages: "x" }, "messages"],
    [{ messages: [{ role: "robot", content: "x" }] }, "messages[0].role"],
    [{ messages: [{ role: "user", content: 5 }] }, "messages[0].content"],
    [{ messages: [{ role: "user", content: [{ type: "text" }] }] }, "messages[0].content[0].text"],
    [
      { messages: [{ role: "user", content: [{ type: "document", source: { type: "base64", data: "" } }] }] },
      "messages[0].content[0].source",
    ],
    [{ tools: [{ input_schema: {} }] }, "tools[0].name"],
    [{ tool_choice: "any", tools: [{ name: "a" }] }, "tool_choice"],
    [{ mcp_servers: [{ url: "http://127.0.0.1" }] }, "mcp_servers"],
    [{ output_config: { format: { type: "text" } } }, "output_config.format"],
  ])("names the member of %j", async (more, member) => {
    const { status, body } = await post(more);
    expect([status, body.type, body.error.type]).toEqual([400, "error", "invalid_request_error"]);
    expect(body.error.message.slice(0, member.length + 2)).toBe(`${member}: `);
  });

  it("has Anthropic's status and type, and is what the official client expects", async () => {
    const stranger = clientOf({ ...chat.agent, apiKey: "sk-agent-unknown" });
    const refused = await stranger.messages.create(ask).catch((error: unknown) => error);
    if (!(refused instanceof Anthropic.AuthenticationError))
      throw new Error("not refused", { cause: refused });
    expect([refused.type, refused.requestID]).toEqual([
      "authentication_error",
      expect.stringMatching(/^req_/),
    ]);
    const poor = await world.agent();
    const unpaid = await post({ stream: true }, {}, poor);
    expect([unpaid.status, unpaid.body]).toMatchObject([
      402,
      { error: { type: "billing_error" }, quote: { price_usdc_microusd: QUOTED } },
    ]);
    expect(unpaid.headers.get("payment-required")).not.toBeNull();
    const large = await post({ system: "x".repeat(1_100_000) });
    expect([large.status, large.body.error.type]).toEqual([413, "request_too_large"]);
    const busy = await post({ model: "limits" });
    expect([busy.status, busy.body.error.type, busy.headers.get("retry-after")]).toEqual([
      529,
      "overloaded_error",
      "1",
    ]);
    const broken = await post({ model: "dies-at-once" });
    expect([broken.status, broken.body.error.type]).toEqual([500, "api_error"]);
    const slow = await world.agent({ balance: 1_000n, ratePerMinute: 1, burst: 1 });
    await clientOf(slow).models.list();
    const limited = await post({}, {}, slow);
    expect([limited.status, limited.body.error.type]).toEqual([429, "rate_limit_error"]);
    expect(limited.headers.get("anthropic-ratelimit-requests-limit")).toBe("1");
    expect(Date.parse(limited.headers.get("anthropic-ratelimit-requests-reset") ?? "")).toBeGreaterThan(0);
    const nowhere = await world.post(chat.agent, "/anthropic/v1/complete", {});
    expect([nowhere.status, nowhere.body.error.type]).toEqual([404, "not_found_error"]);
  });
});
