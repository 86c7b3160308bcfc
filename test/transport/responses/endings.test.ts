import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { leakNow } from "./responses-upstream.ts";
import { COUNTED, QUOTED, TWO_BYTES, TWO_BYTES_CUT, useChatWorld } from "../openai/chat-world.ts";

/** How streams of the Responses API end, and what is charged. */

const chat = useChatWorld();
const { receipts, lastRun } = chat;
const input = "2+2?";
/** The prompt as counted, 11 tokens at 0.2, and one token at 0.6 for the text. */
const PROMPT_COUNTED = 3;

async function streamed(model: string, headers: Record<string, string> = {}, more: object = {}) {
  const stream = await chat.client.responses.create({ model, input, stream: true, ...more }, { headers });
  const events: OpenAI.Responses.ResponseStreamEvent[] = [];
  for await (const event of stream) events.push(event);
  const text = events
    .map((event) => (event.type === "response.output_text.delta" ? event.delta : ""))
    .join("");
  return { text, last: events.at(-1), types: events.map(({ type }) => type), events };
}

/** Model, text, last event, charge. */
const ENDINGS = [
  ["good", "Four.", "response.completed", COUNTED],
  ["done-without-usage", "Fo", "response.completed", TWO_BYTES],
  ["negative-usage", "Fo", "response.completed", TWO_BYTES],
  ["huge-usage", "Fo", "response.completed", QUOTED],
  ["dies-after-text", "Fo", "response.failed", TWO_BYTES_CUT],
  ["stalls-after-text", "Fo", "response.failed", TWO_BYTES_CUT],
  ["counts", "Fo", "response.failed", COUNTED],
  ["r-says", "Four.", "response.completed", COUNTED],
  ["r-thinks", "Four.", "response.completed", COUNTED],
  ["r-counts-nothing", "Fo", "response.completed", TWO_BYTES],
  ["r-negative", "Fo", "response.completed", PROMPT_COUNTED],
  ["r-huge", "Fo", "response.completed", QUOTED],
  ["r-incomplete", "Fo", "response.incomplete", COUNTED],
  ["r-dies", "Fo", "response.failed", TWO_BYTES_CUT],
] as const;

describe("endings of the Responses API's streams", () => {
  it.each(ENDINGS)("%s: charges what was delivered, and replays it", async (model, text, type, charge) => {
    const key = { "Idempotency-Key": "once" };
    const first = await streamed(model, key);
    expect(first).toMatchObject({
      text,
      last: {
        type,
        response: { status: type.slice("response.".length), usage: { cost_usdc_microusd: charge } },
      },
    });
    const again = await streamed(model, key);
    const { sequence_number: _, ...last } = first.last ?? {};
    expect(again).toMatchObject({ text, last });
    expect(await receipts()).toMatchObject([{ debited_usdc_microusd: charge }]);
  });

  it.each(["dies-at-once", "malformed-event", "r-fails", "r-starts-and-dies"])(
    "%s: charges nothing, with an HTTP status",
    async (model) => {
      await expect(streamed(model)).rejects.toMatchObject({ status: 500, type: "server_error" });
      expect([await receipts(), await lastRun()]).toMatchObject([[], { status: "failed" }]);
    },
  );

  const TEXT_ENDS = ["response.output_text.done", "response.content_part.done", "response.output_item.done"];
  const CALL_ENDS = ["response.function_call_arguments.done", "response.output_item.done"];
  it.each([
    ["floods", TEXT_ENDS],
    ["r-floods", TEXT_ENDS],
    ["r-calls-on", CALL_ENDS],
  ])("%s: is stopped at the price that was held, with what is open incomplete", async (model, ends) => {
    const { last, types, events } = await streamed(model, {}, { max_output_tokens: 50 });
    expect(types.slice(-1 - ends.length)).toEqual([...ends, "response.incomplete"]);
    const done = events.find(({ type }) => type === "response.output_item.done");
    const item = done?.type === "response.output_item.done" ? done.item : undefined;
    expect(item).toMatchObject({ status: "incomplete" });
    expect(last).toMatchObject({
      type: "response.incomplete",
      response: { incomplete_details: { reason: "max_output_tokens" }, output: [item] },
    });
    const [receipt] = await receipts();
    expect(Number(receipt?.["debited_usdc_microusd"])).toBeLessThanOrEqual(
      Number(receipt?.["quoted_usdc_microusd"]),
    );
  });

  it.each(["floods", "r-floods"])("%s: ends when its caller leaves, and is charged once", async (model) => {
    const stream = await chat.client.responses.create({ model, input, stream: true });
    for await (const event of stream) if (event.type === "response.output_text.delta") break;
    await expect.poll(async () => (await lastRun())["status"]).toBe("completed");
    expect(await receipts()).toHaveLength(1);
  });

  it("asks the next server of the same API when the first one is busy", async () => {
    expect(await streamed("r-shared")).toMatchObject({ text: "Four.", last: { sequence_number: 9 } });
    expect(await receipts()).toMatchObject([{ debited_usdc_microusd: COUNTED }]);
  });

  it("ends with an error event when the model's server sends its key, and charges nothing", async () => {
    const asked = chat.client.responses.create({ model: "r-leaks", input, stream: true });
    let text = "";
    for await (const bytes of (await asked.asResponse()).body ?? []) {
      text += new TextDecoder().decode(bytes);
      if (!text.includes("event: error")) leakNow();
    }
    const [name, data = ""] = text.trim().split("\n\n").at(-1)?.split("\ndata: ") ?? [];
    expect([name, JSON.parse(data)]).toMatchObject([
      "event: error",
      { type: "error", code: "TOOL_FAILED", message: expect.any(String), param: null, sequence_number: 5 },
    ]);
    expect(await receipts()).toEqual([]);
  });

  it("says how the model's server failed in mid-stream, and what was charged", async () => {
    const { last } = await streamed("r-dies");
    const [receipt] = await receipts();
    expect(last).toMatchObject({
      response: {
        error: {
          code: "server_error",
          message: expect.stringContaining(
            `charged: $0.00000${TWO_BYTES_CUT}, receipt ${String(receipt?.["receipt_id"])}`,
          ),
        },
      },
    });
  });
});
