import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { COUNTED, messages, QUOTED, TWO_BYTES, TWO_BYTES_CUT, useChatWorld } from "../openai/chat-world.ts";

/** How streams of Messages end, and what is charged. */

const chat = useChatWorld();
const { receipts, lastRun } = chat;
const client = () =>
  new Anthropic({
    baseURL: `${chat.world.gateway.baseUrl}/anthropic`,
    apiKey: chat.agent.apiKey,
    maxRetries: 0,
  });

async function streamed(model: string, headers: Record<string, string> = {}, max_tokens = 500) {
  const events: Anthropic.MessageStreamEvent[] = [];
  const body = { model, max_tokens, messages, stream: true as const };
  const stream = await client().messages.create(body, { headers });
  const failed = await (async () => {
    for await (const event of stream) events.push(event);
  })().catch((error: unknown) => error);
  const open = new Set<number>();
  let [text, reason]: [string, string | null] = ["", null];
  for (const event of events) {
    if (event.type === "content_block_start") open.add(event.index);
    if (event.type === "content_block_stop") open.delete(event.index);
    if (event.type === "content_block_delta" && event.delta.type === "text_delta") text += event.delta.text;
    if (event.type === "message_delta") reason = event.delta.stop_reason;
  }
  return { text, reason, failed, open: open.size, last: events.at(-1) };
}

/** 20 tokens at 0.2, 20 from the cache at 0.02 and 5 at 0.6: 7.4, rounded up. */
const OWN = 8;

/** Model, text, stop reason, charge. */
const ENDINGS = [
  ["good", "Four.", "end_turn", COUNTED],
  ["tools", "", "tool_use", COUNTED],
  ["done-without-usage", "Fo", "end_turn", TWO_BYTES],
  ["huge-usage", "Fo", "end_turn", QUOTED],
  ["claude-says", "Four.", "end_turn", OWN],
  ["claude-tools", "", "tool_use", OWN],
  ["claude-max-tokens", "Fo", "max_tokens", OWN],
  ["claude-stops", "Fo", "stop_sequence", OWN],
  ["claude-declines", "Fo", "refusal", OWN],
] as const;

/** Model, charge. The counted prompt is charged, and one token at 0.6 for the text: 5. */
const BROKEN = [
  ["dies-after-text", TWO_BYTES_CUT],
  ["stalls-after-text", TWO_BYTES_CUT],
  ["claude-dies", 5],
  ["claude-fails-later", 5],
  ["claude-stalls", 5],
  ["claude-malformed", 5],
] as const;

describe("endings of streams of Messages", () => {
  it.each(ENDINGS)("%s: charges what was delivered, and replays it", async (model, text, reason, charge) => {
    const key = { "Idempotency-Key": "once" };
    const ended = { text, reason, failed: undefined, open: 0, last: { type: "message_stop" } };
    expect(await streamed(model, key)).toMatchObject(ended);
    expect(await streamed(model, key)).toMatchObject(ended);
    expect(await receipts()).toMatchObject([{ debited_usdc_microusd: charge }]);
  });

  it.each(BROKEN)("%s: ends with an error, and charges what was delivered", async (model, charge) => {
    const key = { "Idempotency-Key": "once" };
    const first = await streamed(model, key);
    expect(first).toMatchObject({ text: "Fo", reason: null, open: 0 });
    expect(String(first.failed)).toMatch(/broke off its answer after 2 characters; charged: \$0\.0000/);
    expect(String((await streamed(model, key)).failed)).toBe(String(first.failed));
    expect(await receipts()).toMatchObject([{ debited_usdc_microusd: charge }]);
  });

  it.each([
    ["malformed-event", 500],
    ["claude-malformed-at-once", 500],
    ["claude-dies-at-once", 500],
    ["claude-stalls-at-once", 500],
    ["claude-overloaded", 529],
    ["claude-refuses", 400],
  ])("%s: charges nothing, with an HTTP status", async (model, status) => {
    await expect(streamed(model)).rejects.toMatchObject({ status });
    expect([await receipts(), await lastRun()]).toMatchObject([[], { status: "failed" }]);
  });

  it.each(["runs-on", "claude-runs-on"])("%s: is stopped at the price that was held", async (model) => {
    expect(await streamed(model, {}, 20)).toMatchObject({ reason: "max_tokens", open: 0, failed: undefined });
    const [receipt] = await receipts();
    expect(Number(receipt?.["debited_usdc_microusd"])).toBeLessThanOrEqual(
      Number(receipt?.["quoted_usdc_microusd"]),
    );
  });

  it.each(["floods", "claude-runs-on"])(
    "%s: ends when its caller leaves, and is charged once",
    async (model) => {
      const stream = client().messages.stream({ model, max_tokens: 500, messages });
      for await (const { type } of stream) if (type === "content_block_delta") break;
      await expect.poll(async () => (await lastRun())["status"]).toBe("completed");
      expect(await receipts()).toHaveLength(1);
    },
  );
});
