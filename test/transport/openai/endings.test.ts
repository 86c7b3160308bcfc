import { spawn, spawnSync } from "node:child_process";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { brokenStream, brokenStreams } from "./broken-streams.ts";
import { floodedBytes, isStopped } from "./chat-upstream.ts";
import {
  COUNTED,
  KEY,
  messages,
  QUOTED,
  textOf,
  TWO_BYTES,
  TWO_BYTES_CUT,
  useChatWorld,
} from "./chat-world.ts";

/** How streams end, whole and broken off, and who is asked next. */

const chat = useChatWorld();
const { world, post, streamed, receipts, lastRun } = chat;

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
    const image = { type: "image_url" as const, image_url: { url: "data:image/png;base64,AA==" } };
    const content = [{ type: "text" as const, text: "2+2?" }, image];
    const seen = { messages: [{ role: "user" as const, content }] };
    const body = { model: "floods", ...seen, stream: true as const };
    const stream = await chat.client.chat.completions.create(body, { headers: key });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    await expect.poll(async () => (await lastRun())["status"]).toBe("completed");
    const again = await streamed("floods", seen, key);
    expect(again.at(-1)?.choices[0]).toMatchObject({
      finish_reason: "length",
      original_finish_reason: "cancelled",
    });
    expect(textOf(again)).toMatch(/^x+$/);
    const generated = Math.ceil(0.2 + 0.6 * Math.ceil(textOf(again).length / 5));
    expect(await receipts()).toMatchObject([{ debited_usdc_microusd: generated }]);
  });

  it("stops an upstream that goes on beyond max_tokens, and charges at most the quote", async () => {
    const limited = { max_tokens: 20 };
    const chunks = await streamed("runs-on", limited, { "Idempotency-Key": "limited" });
    // 20 tokens of 5 characters, and the one that was too many.
    expect(textOf(chunks)).toBe("word ".repeat(21));
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe("length");
    await expect.poll(isStopped).toBe(true);
    // Of the prompt the least, as it is not counted: one token at 0.2, and 20 at 0.6.
    const cost = { debited_usdc_microusd: 13, quoted_usdc_microusd: Math.ceil(76 * 0.2 + 20 * 0.6) };
    expect(await receipts()).toMatchObject([cost]);
    const whole = await post({ model: "runs-on", messages, ...limited });
    expect(whole.json.choices[0]).toMatchObject({ finish_reason: "length" });
    const { body } = await world.call(chat.agent, "inference_chat", {
      model: "runs-on",
      messages,
      ...limited,
    });
    expect(body.result).toMatchObject({ finish_reason: "length", content: "word ".repeat(21) });
  });

  it("caller left before the first chunk: charges nothing", async () => {
    const asked = chat.upstream.received.length;
    const controller = new AbortController();
    const body = { model: "stays", messages, stream: true as const };
    const stream = chat.client.chat.completions.create(body, { signal: controller.signal });
    await expect.poll(() => chat.upstream.received.length).toBe(asked + 1);
    controller.abort();
    await expect(stream).rejects.toThrow();
    await expect.poll(async () => (await lastRun())["status"]).toBe("cancelled");
    expect(await receipts()).toEqual([]);
  });

  it("a caller that reads nothing: stops the upstream from sending more", async () => {
    const asked = chat.upstream.received.length;
    const body = JSON.stringify({ model: "floods", messages, stream: true });
    const socket = connect(Number(new URL(world.gateway.baseUrl).port), "127.0.0.1").pause();
    socket.on("error", () => {});
    socket.write(
      `POST /openai/v1/chat/completions HTTP/1.1\r\nHost: t\r\n` +
        `Authorization: Bearer ${chat.agent.apiKey}\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    await expect.poll(() => chat.upstream.received.length).toBe(asked + 1);
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
  const askedOf = (from: number) =>
    chat.upstream.received.slice(from).map(({ body }) => JSON.parse(body).model);

  it("asks the next upstream while nothing has come from the first", async () => {
    const from = chat.upstream.received.length;
    expect(textOf(await streamed("shared"))).toBe("Four.");
    expect(askedOf(from)).toEqual(["shared", "good"]);
    expect(await receipts()).toMatchObject([{ debited_usdc_microusd: COUNTED }]);
  });

  it("asks no other upstream after the first byte of an answer", async () => {
    const from = chat.upstream.received.length;
    const { text, error } = await brokenStream(chat.client, "shared-dies");
    expect([text, error.code]).toEqual(["Fo", "connection_lost"]);
    expect(askedOf(from)).toEqual(["shared-dies"]);
    expect(await receipts()).toHaveLength(1);
  });

  it("asks no other upstream for a whole answer that broke off, and charges nothing", async () => {
    const from = chat.upstream.received.length;
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
      `Authorization: Bearer ${chat.agent.apiKey}`,
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
      usage: { cost_usdc_microusd: TWO_BYTES_CUT },
    });
  });
});

brokenStreams(
  world,
  () => chat.upstream,
  () => chat.agent,
  { uncounted: TWO_BYTES_CUT, counted: COUNTED },
);
