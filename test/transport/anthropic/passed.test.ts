import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { KEY, messages, useChatWorld } from "../openai/chat-world.ts";
import { event, INPUT, isStopped, LATER, THOUGHTS } from "./messages-upstream.ts";

/** Anthropic's Messages API in front of servers of the same API, and chat completions in front of them. */

const chat = useChatWorld();
const { world, receipts } = chat;

/** 20 tokens at 0.2, 20 from the cache at 0.02 and 5 at 0.6: 7.4, rounded up. */
const COUNTED = 8;
const URL = "/anthropic/v1/messages";
const ask = { model: "claude-says", max_tokens: 500, messages };
const client = () =>
  new Anthropic({ baseURL: `${world.gateway.baseUrl}/anthropic`, apiKey: chat.agent.apiKey, maxRetries: 0 });
const post = (body: object, headers: Record<string, string> = {}) =>
  world.post(chat.agent, URL, { ...ask, ...body }, headers);
const sent = () => JSON.parse(chat.upstream.received.at(-1)?.body ?? "{}");

/** The events of a stream, as text. */
async function streamed(body: object, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(world.gateway.baseUrl + URL, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": chat.agent.apiKey, ...headers },
    body: JSON.stringify({ ...ask, ...body, stream: true }),
  });
  return response.text();
}

describe("a request for a server of the same API", () => {
  it("goes through as it came, with the server's key, and without what changes the price", async () => {
    const cache = { cache_control: { type: "ephemeral" } };
    const body = {
      system: [{ type: "text", text: "Be short.", ...cache }],
      messages: [
        { role: "user", content: [{ type: "text", text: "2+2?", ...cache }] },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "2 and 2.", signature: "c2lnbmVk" },
            { type: "redacted_thinking", data: "aGlkZGVu" },
            { type: "tool_use", id: "toolu_1", name: "add", input: { a: 2, b: 2 } },
          ],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "4" }] },
      ],
      tools: [
        { name: "add", input_schema: { type: "object" }, defer_loading: true },
        { type: "bash_20250124", name: "bash" },
      ],
      thinking: { type: "adaptive" },
      context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
      output_config: { effort: "max" },
      metadata: { user_id: "u" },
      top_k: 5,
    };
    const search = { type: "web_search_20250305", name: "web_search" };
    const more = { speed: "fast", tools: [...body.tools, search] };
    const betas = { "anthropic-beta": "one-2025-01-01, two-2025-01-01", "anthropic-version": "2023-06-01" };
    const answer = await post({ ...body, ...more }, betas);
    expect(answer.status).toBe(200);
    expect(sent()).toEqual({ ...body, model: "claude-says", max_tokens: 500, stream: true });
    const headers = chat.upstream.received.at(-1)?.headers;
    expect(headers).toMatchObject({
      "x-api-key": KEY,
      "anthropic-version": "2023-06-01",
      "anthropic-beta": "one-2025-01-01,two-2025-01-01",
    });
    expect(headers?.authorization).toBeUndefined();
    expect(answer.body.notes).toEqual([
      "speed: left out; it changes the price",
      "tools.web_search: left out; no quote covers what it costs",
    ]);
  });

  it("has its answer and events as they came, with ids, usage and charge of the gateway", async () => {
    const key = { "Idempotency-Key": "thinks" };
    const text = await streamed({ model: "claude-thinks" }, key);
    const inner =
      THOUGHTS +
      text.slice(
        text.indexOf(event("content_block_start", { index: 2, content_block: { type: "text", text: "" } })),
      );
    expect(text).toContain(THOUGHTS);
    expect(inner).toContain(LATER);
    const whole = await client().messages.create({ ...ask, model: "claude-thinks" }, { headers: key });
    expect(whole).toMatchObject({
      model: "claude-thinks",
      content: [
        { type: "thinking", thinking: "2 and 2.", signature: "c2lnbmVk" },
        { type: "redacted_thinking", data: "aGlkZGVu" },
        { type: "text", text: "Four." },
        { type: "later_thing", payload: { a: [1] } },
      ],
      stop_reason: "end_turn",
      context_management: { applied_edits: [] },
      usage: { ...INPUT, output_tokens: 9 },
    });
    expect(whole.id).toMatch(/^msg_[0-9a-f]{32}$/);
    expect(text).toContain(`"id":"${whole.id}"`);
    // A repeat streams the same blocks from the stored answer.
    const again = await client()
      .messages.stream({ ...ask, model: "claude-thinks" }, { headers: key })
      .finalMessage();
    expect(again.content).toEqual(whole.content);
    expect(await receipts()).toHaveLength(1);
  });

  it("charges cached tokens at their rate", async () => {
    const { body } = await post({});
    expect(body.usage).toMatchObject({ ...INPUT, output_tokens: 5, cost_usdc_microusd: COUNTED });
    expect(await receipts()).toMatchObject([{ debited_usdc_microusd: COUNTED }]);
  });

  it("reads a whole answer where the server does not stream", async () => {
    const { body } = await post({ model: "claude-whole", stop_sequences: ["\n"] });
    expect(body).toMatchObject({
      content: [{ type: "thinking", signature: "c2ln" }, { text: "Four." }],
      stop_reason: "stop_sequence",
      stop_sequence: "\n",
    });
    const stream = client().messages.stream({ ...ask, model: "claude-whole" });
    expect((await stream.finalMessage()).content).toEqual(body.content);
  });
});

describe("money of passed requests", () => {
  it("stops a server that goes on beyond max_tokens, in the API's way", async () => {
    const stream = client().messages.stream({ ...ask, model: "claude-runs-on", max_tokens: 20 });
    const message = await stream.finalMessage();
    expect(message).toMatchObject({ stop_reason: "max_tokens", content: [{ text: "word ".repeat(21) }] });
    await expect.poll(isStopped).toBe(true);
    const [receipt] = await receipts();
    expect(Number(receipt?.["debited_usdc_microusd"])).toBeLessThanOrEqual(
      Number(receipt?.["quoted_usdc_microusd"]),
    );
    expect(message.usage).toMatchObject({ ...INPUT, output_tokens: 20 });
  });

  it.each([
    ["negative counts", "claude-negative", 2],
    ["forged charge", "claude-forges", COUNTED],
  ])("charges what was delivered: %s", async (_, model, charge) => {
    const { body } = await post({ model });
    const [receipt] = await receipts();
    expect(receipt).toMatchObject({ debited_usdc_microusd: charge });
    expect(body).toMatchObject({
      usage: { cost_usdc_microusd: charge, receipt_id: receipt?.["receipt_id"] },
      receipt_id: receipt?.["receipt_id"],
    });
    expect(await streamed({ model })).not.toContain("forged");
  });

  it("charges cache writes at their rates, which the quote covers", async () => {
    // 10 tokens at 0.2, 20 from the cache at 0.02, 6 written at 0.25, 4 for an hour at 0.4 and 5 at 0.6.
    await post({ model: "claude-writes" });
    const quoted_usdc_microusd = Math.ceil((64 + 8 + 4) * 0.4 + 500 * 0.6);
    expect(await receipts()).toMatchObject([{ debited_usdc_microusd: 9, quoted_usdc_microusd }]);
    const { json } = await chat.post({ model: "claude-writes", messages });
    const prompt_tokens_details = { cached_tokens: 20, cache_write_tokens: 10 };
    expect(json.usage).toMatchObject({ prompt_tokens: 40, prompt_tokens_details, cost_usdc_microusd: 9 });
  });

  it.each(["claude-huge", "claude-writes-all"])(
    "charges at most the quote, whatever the server counts: %s",
    async (model) => {
      await post({ model });
      const [receipt] = await receipts();
      expect(receipt?.["debited_usdc_microusd"]).toBe(receipt?.["quoted_usdc_microusd"]);
    },
  );

  it("ends a stream that broke off with an error that says what was charged", async () => {
    const text = await streamed({ model: "claude-dies" });
    expect(text.trim().split("\n\n").at(-1)).toMatch(
      /^event: error\ndata: {"type":"error","error":{"type":"api_error","message":"the model server broke off its answer after 2 characters; charged: \$0\.0000\d\d?, receipt rcpt_/,
    );
    expect(await receipts()).toHaveLength(1);
  });

  it.each([
    ["claude-dies-at-once", 500, "api_error"],
    ["claude-overloaded", 529, "overloaded_error"],
    ["claude-refuses", 400, "invalid_request_error"],
  ])("%s: is uncharged, with status and error", async (model, status, type) => {
    for (const stream of [false, true]) {
      const { status: got, body } = await post({ model, stream });
      expect([got, body]).toMatchObject([
        status,
        { type: "error", error: { type }, request_id: expect.stringMatching(/^req_/) },
      ]);
    }
    expect(await receipts()).toEqual([]);
  });
});

describe("chat completions in front of a server of Messages", () => {
  it("converts tools, parallel calls and their results", async () => {
    const add = { type: "function" as const, function: { name: "add", parameters: { type: "object" } } };
    const body = { model: "claude-tools", messages, tools: [add], parallel_tool_calls: true };
    const first = await chat.client.chat.completions.create(body);
    const [{ message, finish_reason } = { message: undefined, finish_reason: "" }] = first.choices;
    expect([finish_reason, message?.tool_calls]).toMatchObject([
      "tool_calls",
      [
        { id: "toolu_1", function: { name: "add", arguments: '{"a":2,"b":2}' } },
        { id: "toolu_2", function: { name: "add", arguments: '{"a":3,"b":3}' } },
      ],
    ]);
    if (!message) return;
    const results = ["toolu_1", "toolu_2"].map((tool_call_id) => ({
      role: "tool" as const,
      tool_call_id,
      content: "4",
    }));
    const turns = [{ role: "system" as const, content: "Add." }, ...messages, message, ...results];
    const second = await chat.client.chat.completions.create({ ...body, messages: turns });
    expect(second.choices[0]?.message.content).toBe("2 results.");
    expect(sent()).toMatchObject({
      system: [{ type: "text", text: "Add." }],
      messages: [
        { role: "user" },
        { role: "assistant", content: [{ type: "tool_use" }, { type: "tool_use" }] },
        { role: "user", content: [{ type: "tool_result" }, { type: "tool_result" }] },
      ],
    });
  });

  it("streams text and thoughts, which come back signed", async () => {
    const chunks = await chat.streamed("claude-thinks");
    const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
    expect(deltas.map((delta) => Reflect.get(delta, "reasoning_content") ?? "").join("")).toBe("2 and 2.");
    const whole = await chat.client.chat.completions.create({ model: "claude-thinks", messages });
    const [choice] = whole.choices;
    expect(choice?.message).toMatchObject({ content: "Four.", reasoning_content: "2 and 2." });
    expect(whole.usage).toMatchObject({
      prompt_tokens: 40,
      completion_tokens: 9,
      prompt_tokens_details: { cached_tokens: 20 },
    });
    if (choice)
      await chat.client.chat.completions.create({
        model: "claude-thinks",
        messages: [...messages, choice.message, ...messages],
      });
    expect(sent().messages[1].content.slice(0, 2)).toEqual([
      { type: "thinking", thinking: "2 and 2.", signature: "c2lnbmVk" },
      { type: "redacted_thinking", data: "aGlkZGVu" },
    ]);
  });

  it("stops an answer that runs on, and says what it left out", async () => {
    const chunks = await chat.streamed("claude-runs-on", { max_tokens: 20, seed: 1 });
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe("length");
    await expect.poll(isStopped).toBe(true);
    const { json } = await chat.post({ model: "claude-says", messages, seed: 1 });
    expect(json.notes).toEqual(["seed: left out; servers of this model lack it"]);
    const refused = await chat.post({ model: "claude-says", messages, logit_bias: { 5: 1 } });
    expect([refused.status, refused.json.error.param]).toEqual([400, "logit_bias"]);
  });
});
