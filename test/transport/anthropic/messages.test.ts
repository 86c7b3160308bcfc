import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../support/world.ts";
import { COUNTED, messages, QUOTED, useChatWorld } from "../openai/chat-world.ts";

/** Anthropic's Messages API in front of servers of chat completions. */

const chat = useChatWorld();
const { world, receipts } = chat;

const clientOf = ({ apiKey }: Agent, options: object = {}) =>
  new Anthropic({ baseURL: `${world.gateway.baseUrl}/anthropic`, apiKey, maxRetries: 0, ...options });
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
});
