import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { keypairSigner, payingFetch } from "../../../src/client/index.ts";
import { USAGE } from "./chat-upstream.ts";
import { BALANCE, COUNTED, messages, QUOTED, textOf, useChatWorld } from "./chat-world.ts";
import { clientLibraries } from "./client-libraries.ts";
import { conversations } from "./conversations.ts";
import { embeddingsContract } from "./embeddings-contract.ts";
import { largeImages } from "./large-images.ts";
import { serverFetches } from "./server-fetches.ts";
import { walletBuyer } from "./wallet-buyer.ts";

const chat = useChatWorld();
const { world, openAi, post, streamed, receipts } = chat;

describe("chat completions over the OpenAI API", () => {
  it("answers the official client, with charge and receipt", async () => {
    const answer = await chat.client.chat.completions.create({ model: "good", messages, user: "u", n: 1 });
    const [receipt] = await receipts();
    expect(receipt).toMatchObject({
      tool: "inference_chat",
      quoted_usdc_microusd: QUOTED,
      debited_usdc_microusd: COUNTED,
    });
    expect(answer).toMatchObject({
      object: "chat.completion",
      model: "good",
      choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Four." } }],
      usage: { ...USAGE, cost_usdc_microusd: COUNTED, receipt_id: receipt?.["receipt_id"] },
      receipt_id: receipt?.["receipt_id"],
      receipt,
    });
    expect(answer.id).toBe(`chatcmpl-${String(receipt?.["run_id"]).slice(4)}`);
    const { messages: sent, user } = JSON.parse(chat.upstream.received.at(-1)?.body ?? "");
    expect([sent, user]).toEqual([messages, undefined]);
  });

  it("passes tools, formats and sampling on, and returns tool calls", async () => {
    const tools = [{ type: "function" as const, function: { name: "add", parameters: { type: "object" } } }];
    const passed = {
      tools,
      tool_choice: "auto" as const,
      parallel_tool_calls: false,
      response_format: { type: "json_object" as const },
      seed: 7,
      stop: ["\n"],
      top_p: 0.5,
      logprobs: true,
      top_logprobs: 2,
    };
    const first = await chat.client.chat.completions.create({ model: "tools", messages, ...passed });
    const message = first.choices[0]?.message;
    expect(JSON.parse(chat.upstream.received.at(-1)?.body ?? "")).toMatchObject(passed);
    expect(message?.tool_calls).toEqual([
      { id: "call_1", type: "function", function: { name: "add", arguments: '{"a":2,"b":2}' } },
    ]);
    if (!message) throw new Error("no message");
    const result = { role: "tool" as const, tool_call_id: "call_1", content: "4" };
    const second = await chat.client.chat.completions.create({
      model: "tools",
      messages: [...messages, message, result],
      tools,
    });
    expect(second.choices[0]?.message.content).toBe("It is 4.");
  });

  it("runs the official client's tool loop and parse helper over streams", async () => {
    const add = {
      type: "function" as const,
      function: {
        name: "add",
        parse: (text: string): { a: number; b: number } => JSON.parse(text),
        function: ({ a, b }: { a: number; b: number }) => String(a + b),
        description: "Adds.",
        parameters: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } },
      },
    };
    const loop = chat.client.chat.completions.runTools({
      model: "tools",
      messages,
      stream: true,
      tools: [add],
    });
    expect(await loop.finalContent()).toBe("It is 4.");
    const format = zodResponseFormat(z.object({ answer: z.number() }), "answer");
    const parsed = chat.client.chat.completions.stream({
      model: "structured",
      messages,
      response_format: format,
    });
    const final = await parsed.finalChatCompletion();
    expect(final.choices[0]?.message.parsed).toEqual({ answer: 4 });
    const whole = await chat.client.chat.completions.parse({
      model: "structured",
      messages,
      response_format: format,
    });
    expect(whole.choices[0]?.message.parsed).toEqual({ answer: 4 });
    expect(final.usage).toMatchObject({ cost_usdc_microusd: COUNTED });
  });

  it("streams with usage in the last chunk, or in one of its own when asked", async () => {
    const plain = await streamed("good");
    expect(textOf(plain)).toBe("Four.");
    expect(plain.map(({ choices }) => choices.length)).toEqual([1, 1, 1]);
    expect(plain.at(-1)).toMatchObject({
      choices: [{ finish_reason: "stop" }],
      usage: { ...USAGE, cost_usdc_microusd: COUNTED },
      receipt_id: expect.stringMatching(/^rcpt_/),
    });
    const counted = await streamed("good", { stream_options: { include_usage: true, chunk_size: 1 } });
    expect(counted.at(-2)?.choices[0]?.finish_reason).toBe("stop");
    expect(counted.at(-1)).toMatchObject({ choices: [], usage: { cost_usdc_microusd: COUNTED } });
    const thought = await streamed("thinks-then-says");
    expect(thought[0]?.choices[0]?.delta).toEqual({ role: "assistant", reasoning_content: "Hm." });
  });

  it("replays the stored answer for a repeated key, whole or as a stream", async () => {
    const key = { "Idempotency-Key": "once" };
    const asked = chat.upstream.received.length;
    const first = await streamed("tools", {}, key);
    const again = await streamed("tools", {}, key);
    const whole = await chat.client.chat.completions.create({ model: "tools", messages }, { headers: key });
    const ids = [first.at(-1), again.at(-1), whole].map((answer) => answer?.usage);
    expect(new Set(ids.map((usage) => JSON.stringify(usage))).size, JSON.stringify(ids)).toBe(1);
    expect(again[0]?.choices[0]?.delta.tool_calls).toMatchObject([
      { index: 0, id: "call_1", function: { name: "add", arguments: '{"a":2,"b":2}' } },
    ]);
    expect(whole.choices[0]?.finish_reason).toBe("tool_calls");
    expect([chat.upstream.received.length - asked, (await receipts()).length]).toEqual([1, 1]);
    const none = { max_tokens: null, stop: null, user: null, stream: null, tools: null };
    const nulls = await post(
      { model: "tools", messages: [{ ...messages[0], name: null }], ...none },
      chat.agent,
      key,
    );
    expect(nulls.json.usage).toEqual(whole.usage);
    const other = await post({ model: "good", messages }, chat.agent, key);
    expect(other).toMatchObject({ status: 422, json: { error: { code: "IDEMPOTENCY_MISMATCH" } } });
    const specified = { model: "tools", messages };
    const form = await world.call(chat.agent, "inference_chat", specified, { headers: key });
    expect(form.status, "another form is another call").toBe(422);
  });
});

describe("models with settings of their own", () => {
  it("passes images on, priced by image_tokens", async () => {
    const image_url = { url: "data:image/png;base64,AA==" };
    const content = [
      { type: "text" as const, text: "What?" },
      { type: "image_url" as const, image_url },
    ];
    await chat.client.chat.completions.create({ model: "sees", messages: [{ role: "user", content }] });
    const { messages: sent } = JSON.parse(chat.upstream.received.at(-1)?.body ?? "");
    expect(sent).toEqual([{ role: "user", content }]);
    const text = JSON.stringify({ role: "user", content: [content[0]] }).length;
    const quoted = Math.ceil((64 + 8 + text + 100) * 0.2 + 500 * 0.6);
    expect(await receipts()).toMatchObject([
      { quoted_usdc_microusd: quoted, debited_usdc_microusd: COUNTED },
    ]);
  });

  it("passes unknown members on where the operator says so, and nowhere else", async () => {
    const { status } = await post({ model: "open", messages, guided_regex: "x" });
    expect(status).toBe(200);
    expect(JSON.parse(chat.upstream.received.at(-1)?.body ?? "")).toMatchObject({ guided_regex: "x" });
    const refused = await post({ model: "good", messages, guided_regex: "x" });
    expect(refused.json.error).toMatchObject({ code: "INVALID_REQUEST", param: "guided_regex" });
  });

  it("limits a model's requests per minute over all accounts, uncharged", async () => {
    await chat.client.chat.completions.create({ model: "once", messages });
    const other = await world.agent({ balance: BALANCE });
    const asked = chat.upstream.received.length;
    const refused = await openAi(other)
      .chat.completions.create({ model: "once", messages })
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(OpenAI.RateLimitError);
    if (!(refused instanceof OpenAI.RateLimitError)) return;
    expect([refused.code, refused.type]).toEqual(["RATE_LIMITED", "rate_limit_error"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(30);
    expect(chat.upstream.received.length).toBe(asked);
    expect((await world.get(other, "/receipts")).body.items).toEqual([]);
  });

  it("limits a model's concurrent calls, and serves the next after them", async () => {
    const body = { model: "waits-for-a-second", messages };
    const asked = chat.upstream.received.length;
    const first = post(body);
    await expect.poll(() => chat.upstream.received.length).toBe(asked + 1);
    expect(await post(body)).toMatchObject({ status: 429, json: { error: { code: "RATE_LIMITED" } } });
    expect((await first).status).toBe(200);
    expect((await post(body)).status).toBe(200);
  });
});

clientLibraries(world, () => chat.agent, COUNTED);
largeImages(
  world,
  () => chat.upstream,
  () => chat.agent,
);
conversations(
  world,
  () => chat.upstream,
  () => chat.agent,
);
serverFetches(world, () => chat.upstream);
walletBuyer(world, COUNTED, QUOTED);

describe("errors over the OpenAI API", () => {
  it.each([
    [{ stream: 1 }, "stream"],
    [{ stream_options: {} }, "stream_options"],
    [{ n: 2 }, "n"],
    [{ best_of: 2 }, "best_of"],
    [{ max_tokens: 501 }, "max_tokens"],
    [{ max_completion_tokens: 5, max_tokens: 6 }, "max_completion_tokens"],
    [{ messages: [{ role: "user", content: 5 }] }, "messages[0].content"],
    [{ messages: [{ role: "robot", content: "x" }] }, "messages[0].role"],
    [{ messages: [{ role: "user", content: [{ type: "text" }] }] }, "messages[0].content[0].text"],
    [{ model: "unknown" }, "model"],
  ])("names the member of %j", async (more, param) => {
    const { status, json } = await post({ model: "good", messages, ...more });
    expect([status, json.error]).toMatchObject([
      400,
      { type: "invalid_request_error", code: "INVALID_REQUEST", param },
    ]);
    expect(json.error.message).toMatch(new RegExp(`^${param.replaceAll(/[.[\]]/g, "\\$&")}: `));
  });

  it("is 429 with the wait where the model's server limits the gateway, which clients repeat", async () => {
    const body = { model: "limits", messages };
    const refused = await chat.client.chat.completions.create(body).catch((error: unknown) => error);
    if (!(refused instanceof OpenAI.RateLimitError)) throw new Error("not limited", { cause: refused });
    expect([refused.code, refused.type]).toEqual(["UNAVAILABLE", "rate_limit_error"]);
    expect(refused.headers.get("retry-after")).toBe("1");
    const { choices } = await openAi(chat.agent, { maxRetries: 3 }).chat.completions.create(body);
    expect([choices[0]?.message.content, await receipts()]).toMatchObject(["Four.", [{}]]);
  });

  it("is what the official client expects: 401, 404, 429 with OpenAI's headers", async () => {
    const stranger = openAi({ ...chat.agent, apiKey: "sk-agent-unknown" });
    await expect(stranger.chat.completions.create({ model: "good", messages })).rejects.toBeInstanceOf(
      OpenAI.AuthenticationError,
    );
    await expect(chat.client.models.retrieve("no/such")).rejects.toBeInstanceOf(OpenAI.NotFoundError);
    await expect(chat.client.completions.create({ model: "good", prompt: "x" })).rejects.toMatchObject({
      status: 404,
      type: "not_found_error",
    });
    const slow = await world.agent({ balance: BALANCE, ratePerMinute: 1, burst: 1 });
    await openAi(slow).models.list();
    const refused = await openAi(slow)
      .models.list()
      .catch((error: unknown) => error);
    if (!(refused instanceof OpenAI.RateLimitError)) throw new Error("not limited", { cause: refused });
    expect(refused.code).toBe("RATE_LIMITED");
    expect(refused.headers.get("x-ratelimit-limit-requests")).toBe("1");
    expect(refused.headers.get("x-ratelimit-reset-requests")).toMatch(/^\d+s$/);
    expect(refused.headers.get("retry-after")).toMatch(/^\d+$/);
  });

  it("offers the whole payment, which payingFetch makes inside the official client", async () => {
    const poor = await world.agent();
    const refused = await post({ model: "good", messages, stream: true }, poor);
    expect(refused).toMatchObject({
      status: 402,
      json: { quote: { price_usdc_microusd: QUOTED }, error: { type: "insufficient_quota" } },
    });
    const offer = JSON.parse(Buffer.from(refused.headers.get("payment-required") ?? "", "base64").toString());
    expect(offer.resource.url).toBe(`${world.gateway.baseUrl}/openai/v1/chat/completions`);
    const paying = payingFetch({
      signer: keypairSigner(poor.wallet.secretKey),
      maxPrice: "0.01",
      budget: "0.01",
    });
    const buyer = openAi(poor, { fetch: paying });
    const answer = await buyer.chat.completions.create({ model: "good", messages });
    expect(answer).toMatchObject({
      receipt: { quoted_usdc_microusd: QUOTED, debited_usdc_microusd: COUNTED },
    });
  });
});

embeddingsContract(world, () => chat.upstream);
