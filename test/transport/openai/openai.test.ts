import { spawn, spawnSync } from "node:child_process";
import { connect } from "node:net";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { keypairSigner, payingFetch } from "../../../src/client/index.ts";
import { type ModelServer } from "../../inference/model-server.ts";
import { useWorld } from "../../support/use-world.ts";
import type { Agent } from "../../support/world.ts";
import { brokenStream, brokenStreams } from "./broken-streams.ts";
import { conversations } from "./conversations.ts";
import { clientLibraries } from "./client-libraries.ts";
import { EMBEDDING_MODELS } from "./embedding-upstream.ts";
import { embeddingsContract } from "./embeddings-contract.ts";
import { largeImages } from "./large-images.ts";
import { serverFetches } from "./server-fetches.ts";
import { walletBuyer } from "./wallet-buyer.ts";
import { chatUpstream, floodedBytes, MODELS, USAGE } from "./chat-upstream.ts";

const BALANCE = 1_000_000n;
const TERMS = {
  input_usd_per_million: 0.2,
  output_usd_per_million: 0.6,
  context_length: 100_000,
  max_output_tokens: 500,
};
const MORE_TERMS: Readonly<Record<string, object>> = {
  sees: { image_tokens: 100 },
  fetches: { image_tokens: 100 },
  open: { image_tokens: 100 },
  once: { requests_per_minute: 1 },
  "waits-for-a-second": { concurrency: 1 },
};
const KEY = "sk-upstream-0123456789abcdef";
const messages = [{ role: "user" as const, content: "2+2?" }];
/** 11 tokens at 0.2 and 2 at 0.6, as counted: 3.4, rounded up. */
const COUNTED = 4;
/** (64 + 8 + 4) * 0.2 + 500 * 0.6. */
const QUOTED = 316;
/** Not counted: 5 tokens at 0.2 for the prompt and one at 0.6 for the text. */
const TWO_BYTES = 2;

const folder = mkdtempSync(path.join(os.tmpdir(), "toolgate-openai-"));
let upstream: ModelServer;
const world = useWorld(async () => {
  upstream = await chatUpstream(KEY);
  // One upstream each, as the failures of one close it for a while.
  const upstreams = MODELS.map((id) => ({
    name: id,
    api_key_env: "TOOL_FIRST_KEY",
    stall_timeout_ms: 300,
    first_piece_timeout_ms: id === "stays" ? 60_000 : 300,
    ...(id === "open" && { unknown_members: "pass" }),
    ...(id === "fetches" && { unknown_members: "pass", image_urls: "pass" }),
    models: [{ id, ...TERMS, ...MORE_TERMS[id] }],
  }));
  // Serves two of the models where their first server is busy, or breaks off.
  const second = {
    name: "second",
    models: ["shared", "shared-dies"].map((id) => ({ id, upstream_model: "good", ...TERMS })),
  };
  const embedders = EMBEDDING_MODELS.map((id) => ({
    name: id,
    models: [{ id: `chat-${id}`, ...TERMS }],
    embedding_models: [{ id, input_usd_per_million: 2, context_length: 100, dimensions: 3 }],
  }));
  const file = path.join(folder, "config.json");
  writeFileSync(file, JSON.stringify({ inference: { upstreams: [...upstreams, second, ...embedders] } }));
  return {
    TOOLGATE_CONFIG: file,
    INFERENCE_BASE_URL: upstream.baseUrl,
    TOOL_FIRST_KEY: KEY,
    GASLESS_MINIMUM_MICROUSD: "1",
  };
});
let agent: Agent;
let client: OpenAI;
afterAll(async () => {
  await upstream[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  agent = await world.agent({ balance: BALANCE });
  client = openAi(agent);
});

function openAi({ apiKey }: Agent, options: object = {}): OpenAI {
  return new OpenAI({ baseURL: `${world.gateway.baseUrl}/openai/v1`, apiKey, maxRetries: 0, ...options });
}

type Body = Record<string, unknown>;

async function post(body: Body, who: Agent | undefined = agent, headers: Record<string, string> = {}) {
  const {
    status,
    body: json,
    headers: received,
  } = await world.post(who, "/openai/v1/chat/completions", body, headers);
  return { status, json, headers: received };
}

async function streamed(model: string, more: Body = {}, headers: Record<string, string> = {}) {
  const body = { model, messages, stream: true as const, ...more };
  const chunks: OpenAI.ChatCompletionChunk[] = [];
  for await (const chunk of await client.chat.completions.create(body, { headers })) chunks.push(chunk);
  return chunks;
}

const textOf = (chunks: readonly OpenAI.ChatCompletionChunk[]): string =>
  chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");

async function receipts(): Promise<Body[]> {
  return (await world.get(agent, "/receipts")).body.items;
}

async function lastRun(): Promise<Body> {
  return (await world.get(agent, "/runs")).body.items[0];
}

describe("chat completions over the OpenAI API", () => {
  it("answers the official client, with charge and receipt", async () => {
    const answer = await client.chat.completions.create({ model: "good", messages, user: "u", n: 1 });
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
    const { messages: sent, user } = JSON.parse(upstream.received.at(-1)?.body ?? "");
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
    const first = await client.chat.completions.create({ model: "tools", messages, ...passed });
    const message = first.choices[0]?.message;
    expect(JSON.parse(upstream.received.at(-1)?.body ?? "")).toMatchObject(passed);
    expect(message?.tool_calls).toEqual([
      { id: "call_1", type: "function", function: { name: "add", arguments: '{"a":2,"b":2}' } },
    ]);
    if (!message) throw new Error("no message");
    const result = { role: "tool" as const, tool_call_id: "call_1", content: "4" };
    const second = await client.chat.completions.create({
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
    const loop = client.chat.completions.runTools({ model: "tools", messages, stream: true, tools: [add] });
    expect(await loop.finalContent()).toBe("It is 4.");
    const format = zodResponseFormat(z.object({ answer: z.number() }), "answer");
    const parsed = client.chat.completions.stream({ model: "structured", messages, response_format: format });
    const final = await parsed.finalChatCompletion();
    expect(final.choices[0]?.message.parsed).toEqual({ answer: 4 });
    const whole = await client.chat.completions.parse({
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
    const asked = upstream.received.length;
    const first = await streamed("tools", {}, key);
    const again = await streamed("tools", {}, key);
    const whole = await client.chat.completions.create({ model: "tools", messages }, { headers: key });
    const ids = [first.at(-1), again.at(-1), whole].map((answer) => answer?.usage);
    expect(new Set(ids.map((usage) => JSON.stringify(usage))).size, JSON.stringify(ids)).toBe(1);
    expect(again[0]?.choices[0]?.delta.tool_calls).toMatchObject([
      { index: 0, id: "call_1", function: { name: "add", arguments: '{"a":2,"b":2}' } },
    ]);
    expect(whole.choices[0]?.finish_reason).toBe("tool_calls");
    expect([upstream.received.length - asked, (await receipts()).length]).toEqual([1, 1]);
    const none = { max_tokens: null, stop: null, user: null, stream: null, tools: null };
    const nulls = await post(
      { model: "tools", messages: [{ ...messages[0], name: null }], ...none },
      agent,
      key,
    );
    expect(nulls.json.usage).toEqual(whole.usage);
    const other = await post({ model: "good", messages }, agent, key);
    expect(other).toMatchObject({ status: 422, json: { error: { code: "IDEMPOTENCY_MISMATCH" } } });
    const specified = { model: "tools", messages };
    const form = await world.call(agent, "inference_chat", specified, { headers: key });
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
    await client.chat.completions.create({ model: "sees", messages: [{ role: "user", content }] });
    const { messages: sent } = JSON.parse(upstream.received.at(-1)?.body ?? "");
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
    expect(JSON.parse(upstream.received.at(-1)?.body ?? "")).toMatchObject({ guided_regex: "x" });
    const refused = await post({ model: "good", messages, guided_regex: "x" });
    expect(refused.json.error).toMatchObject({ code: "INVALID_REQUEST", param: "guided_regex" });
  });

  it("limits a model's requests per minute over all accounts, uncharged", async () => {
    await client.chat.completions.create({ model: "once", messages });
    const other = await world.agent({ balance: BALANCE });
    const asked = upstream.received.length;
    const refused = await openAi(other)
      .chat.completions.create({ model: "once", messages })
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(OpenAI.RateLimitError);
    if (!(refused instanceof OpenAI.RateLimitError)) return;
    expect([refused.code, refused.type]).toEqual(["RATE_LIMITED", "rate_limit_error"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(30);
    expect(upstream.received.length).toBe(asked);
    expect((await world.get(other, "/receipts")).body.items).toEqual([]);
  });

  it("limits a model's concurrent calls, and serves the next after them", async () => {
    const body = { model: "waits-for-a-second", messages };
    const asked = upstream.received.length;
    const first = post(body);
    await expect.poll(() => upstream.received.length).toBe(asked + 1);
    expect(await post(body)).toMatchObject({ status: 429, json: { error: { code: "RATE_LIMITED" } } });
    expect((await first).status).toBe(200);
    expect((await post(body)).status).toBe(200);
  });
});

/** Model, what has come, finish reason, charge. */
const ENDINGS = [
  ["upstream sent a null for its choices", "null-choices", "Four.", "stop", COUNTED],
  ["upstream ended without a count", "done-without-usage", "Fo", "stop", TWO_BYTES],
  ["upstream counted below zero", "negative-usage", "Fo", "stop", TWO_BYTES],
  ["upstream counted more than the quote", "huge-usage", "Fo", "stop", QUOTED],
  ["upstream sent a second choice", "two-choices", "Fo", "stop", COUNTED],
  ["upstream compressed", "gzip", "Fo", "stop", COUNTED],
] as const;

describe("endings of streams", () => {
  it.each(ENDINGS)(
    "%s: charges what was delivered, and replays it",
    async (_, model, text, reason, charge) => {
      const key = { "Idempotency-Key": "once" };
      const first = await streamed(model, {}, key);
      expect(textOf(first)).toBe(text);
      expect(first.at(-1)).toMatchObject({
        choices: [{ finish_reason: reason }],
        usage: { cost_usdc_microusd: charge },
      });
      const again = await streamed(model, {}, key);
      expect([textOf(again), again.at(-1)?.usage]).toEqual([text, first.at(-1)?.usage]);
      expect(await receipts()).toHaveLength(1);
    },
  );

  it.each(["dies-at-once", "stalls-at-once", "repeats-key", "repeats-key-slowly", "malformed-event"])(
    "%s: charges nothing, with an HTTP status",
    async (model) => {
      const answer = await post({ model, messages, stream: true });
      expect(answer).toMatchObject({
        status: 500,
        json: { error: { type: "server_error", code: "TOOL_FAILED" } },
      });
      expect(JSON.stringify(answer.json)).not.toContain(KEY.slice(0, 12));
      expect([await receipts(), await lastRun()]).toMatchObject([[], { status: "failed" }]);
    },
  );

  it("caller left: ends the upstream's work and charges what was generated, once", async () => {
    const key = { "Idempotency-Key": "left" };
    const body = { model: "floods", messages, stream: true as const };
    const stream = await client.chat.completions.create(body, { headers: key });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    await expect.poll(async () => (await lastRun())["status"]).toBe("completed");
    const again = await streamed("floods", {}, key);
    expect(again.at(-1)?.choices[0]).toMatchObject({
      finish_reason: "length",
      original_finish_reason: "cancelled",
    });
    expect(textOf(again)).toMatch(/^x+$/);
    const generated = Math.ceil(1 + 0.6 * Math.min(500, Math.ceil(textOf(again).length / 5)));
    expect(await receipts()).toMatchObject([{ debited_usdc_microusd: generated }]);
  });

  it("caller left before the first chunk: charges nothing", async () => {
    const asked = upstream.received.length;
    const controller = new AbortController();
    const body = { model: "stays", messages, stream: true as const };
    const stream = client.chat.completions.create(body, { signal: controller.signal });
    await expect.poll(() => upstream.received.length).toBe(asked + 1);
    controller.abort();
    await expect(stream).rejects.toThrow();
    await expect.poll(async () => (await lastRun())["status"]).toBe("cancelled");
    expect(await receipts()).toEqual([]);
  });

  it("a caller that reads nothing: stops the upstream from sending more", async () => {
    const asked = upstream.received.length;
    const body = JSON.stringify({ model: "floods", messages, stream: true });
    const socket = connect(Number(new URL(world.gateway.baseUrl).port), "127.0.0.1").pause();
    socket.on("error", () => {});
    socket.write(
      `POST /openai/v1/chat/completions HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer ${agent.apiKey}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    await expect.poll(() => upstream.received.length).toBe(asked + 1);
    // Once all buffers are full, what the upstream has sent stays the same.
    let before = 0;
    const hasStopped = () => {
      const stopped = before > 0 && floodedBytes() === before;
      before = floodedBytes();
      return stopped;
    };
    // Some ten thousand chunks, which takes a busy machine minutes.
    await expect.poll(hasStopped, { interval: 300, timeout: 400_000 }).toBe(true);
    // Nothing else stopped it: it goes on as soon as the caller reads.
    const held = floodedBytes();
    socket.resume();
    await expect.poll(() => floodedBytes()).toBeGreaterThan(held);
    socket.destroy();
    await expect.poll(async () => (await lastRun())["status"]).toBe("completed");
  });
});

describe("models of several upstreams", () => {
  const askedOf = (from: number) => upstream.received.slice(from).map(({ body }) => JSON.parse(body).model);

  it("asks the next upstream while nothing has come from the first", async () => {
    const from = upstream.received.length;
    expect(textOf(await streamed("shared"))).toBe("Four.");
    expect(askedOf(from)).toEqual(["shared", "good"]);
    expect(await receipts()).toMatchObject([{ debited_usdc_microusd: COUNTED }]);
  });

  it("asks no other upstream after the first byte of an answer", async () => {
    const from = upstream.received.length;
    const { text, error } = await brokenStream(client, "shared-dies");
    expect([text, error.code]).toEqual(["Fo", "connection_lost"]);
    expect(askedOf(from)).toEqual(["shared-dies"]);
    expect(await receipts()).toHaveLength(1);
  });

  it("asks no other upstream for a whole answer that broke off, and charges nothing", async () => {
    const from = upstream.received.length;
    const answer = await post({ model: "shared-dies", messages });
    expect(answer).toMatchObject({ status: 500, json: { error: { code: "TOOL_FAILED" } } });
    expect([askedOf(from), await receipts()]).toEqual([["shared-dies"], []]);
  });
});

describe("curl", () => {
  const curl = spawnSync("curl", ["--version"]).error === undefined;

  it.skipIf(!curl)("reads a stream without buffering (skipped where curl is missing)", async () => {
    const child = spawn("curl", [
      "-sN",
      `${world.gateway.baseUrl}/openai/v1/chat/completions`,
      "-H",
      `Authorization: Bearer ${agent.apiKey}`,
      "-H",
      "Content-Type: application/json",
      "-d",
      JSON.stringify({ model: "stalls-after-text", messages, stream: true }),
    ]);
    const parts: string[] = [];
    for await (const part of child.stdout) parts.push(String(part));
    expect(parts.length, "the first chunk arrives before the end").toBeGreaterThan(1);
    const events = parts.join("").trim().split("\n\n");
    expect(events.at(-1)).toBe("data: [DONE]");
    expect(JSON.parse(events.at(-2)?.slice("data: ".length) ?? "")).toMatchObject({
      error: { code: "timeout", type: "server_error", param: null },
      receipt_id: expect.stringMatching(/^rcpt_/),
      usage: { cost_usdc_microusd: TWO_BYTES },
    });
  });
});

clientLibraries(world, () => agent, COUNTED);
largeImages(
  world,
  () => upstream,
  () => agent,
);
conversations(
  world,
  () => upstream,
  () => agent,
);
serverFetches(world, () => upstream);
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

  it("is what the official client expects: 401, 404, 429 with OpenAI's headers", async () => {
    const stranger = openAi({ ...agent, apiKey: "sk-agent-unknown" });
    await expect(stranger.chat.completions.create({ model: "good", messages })).rejects.toBeInstanceOf(
      OpenAI.AuthenticationError,
    );
    await expect(client.models.retrieve("no/such")).rejects.toBeInstanceOf(OpenAI.NotFoundError);
    await expect(client.completions.create({ model: "good", prompt: "x" })).rejects.toMatchObject({
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

embeddingsContract(world, () => upstream);
brokenStreams(
  world,
  () => upstream,
  () => agent,
  { uncounted: TWO_BYTES, counted: COUNTED },
);
