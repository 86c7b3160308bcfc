import { describe, expect, it } from "vitest";
import type { ModelServer } from "../../inference/model-server.ts";
import type { Agent, World } from "../../support/world.ts";

const CALL = { id: "call_1", type: "function", function: { name: "f", arguments: "{}" } };
const CITED = [{ type: "url_citation", url_citation: { url: "https://example.com/a" } }];

/** What real agents send, with the models `good`, which gets no unknown members of the body, and `open`. */
export function conversations(world: World, upstream: () => ModelServer, agent: () => Agent): void {
  const post = async (body: object) =>
    (await world.post(agent(), "/openai/v1/chat/completions", { model: "good", ...body })).status;
  const sent = () => JSON.parse(upstream().received.at(-1)?.body ?? "");

  describe("messages of agents", () => {
    it.each<[what: string, message: object]>([
      ["the result of a tool with a name", { role: "tool", tool_call_id: "a", name: "f", content: "42" }],
      ["the result of a function", { role: "function", name: "f", content: "42" }],
      ["content that is null", { role: "assistant", content: null, tool_calls: [CALL] }],
      ["content that is empty", { role: "assistant", content: "", tool_calls: [CALL] }],
      ["no content", { role: "assistant", tool_calls: [CALL] }],
      [
        "a call of a function",
        { role: "assistant", content: null, function_call: { name: "f", arguments: "" } },
      ],
      [
        "nulls",
        {
          role: "assistant",
          content: "x",
          refusal: null,
          audio: null,
          function_call: null,
          tool_calls: null,
        },
      ],
      [
        "citations",
        { role: "assistant", content: "x", annotations: CITED, citations: ["https://example.com"] },
      ],
      [
        "thoughts",
        { role: "assistant", content: "x", reasoning_details: [{ text: "Hm.", signature: "c2ln" }] },
      ],
      [
        "a signed call",
        { role: "assistant", tool_calls: [{ ...CALL, extra_content: { signature: "c2ln" } }] },
      ],
      [
        "a custom call",
        { role: "assistant", tool_calls: [{ id: "c", type: "custom", custom: { name: "f", input: "x" } }] },
      ],
      [
        "arguments as an object",
        { role: "assistant", tool_calls: [{ id: "c", function: { name: "f", arguments: {} } }] },
      ],
      [
        "content in parts",
        { role: "tool", tool_call_id: "a", content: [{ type: "text", text: "42", x: 1 }] },
      ],
      [
        "thoughts in parts",
        { role: "assistant", content: [{ type: "thinking", thinking: [{ type: "text", text: "x" }] }] },
      ],
      ["no parts", { role: "user", content: [] }],
      ["a member of no API", { role: "user", content: "x", name: "", mood: { good: [true, null] } }],
      ["a developer", { role: "developer", name: "d", content: "x" }],
    ])("are sent on as they came: %s", async (_, message) => {
      const messages = [{ role: "user", content: "x" }, message];
      expect(await post({ messages })).toBe(200);
      expect(sent().messages).toEqual(messages);
    });

    it("lose what the official client adds, and what would only change a price", async () => {
      const cached = { type: "text", text: "x", cache_control: { type: "ephemeral" } };
      const message = { role: "assistant", content: [cached], parsed: { a: 1 } };
      expect(await post({ messages: [message] })).toBe(200);
      expect(sent().messages).toEqual([{ role: "assistant", content: [{ type: "text", text: "x" }] }]);
      expect(await post({ model: "open", messages: [message] })).toBe(200);
      expect(sent().messages).toEqual([{ role: "assistant", content: [cached] }]);
    });

    it("are priced with all their members", async () => {
      const priceOf = async (message: object) => {
        const body = { model: "good", messages: [{ role: "user", content: "x", ...message }] };
        return (await world.post(await world.agent(), "/openai/v1/chat/completions", body)).body.quote
          .price_usdc_microusd;
      };
      const [short, long] = await Promise.all([priceOf({ more: "" }), priceOf({ more: "x".repeat(1_000) })]);
      expect(long - short).toBe(200);
    });

    it.each([
      [{ role: "assistant", content: "x", audio: { id: "audio_1" } }, "audio"],
      [{ role: "user", content: [{ type: "input_audio", input_audio: {} }] }, "content[0].type"],
      [{ role: "human", content: "x" }, "role"],
      [{ role: "user", content: "x", citations: ["http://169.254.169.254/"] }, "citations[0]"],
    ])("are refused for what costs money or safety: %j", async (message, member) => {
      const body = { model: "good", messages: [message] };
      const { status, body: json } = await world.post(agent(), "/openai/v1/chat/completions", body);
      expect([status, json.error.param]).toEqual([400, `messages[0].${member}`]);
    });

    it("may call functions by their old names, and tools of other types", async () => {
      const functions = [{ name: "f", parameters: { type: "object" } }];
      const tools = [{ type: "custom", custom: { name: "f", format: { type: "text" } } }];
      const messages = [{ role: "user", content: "x" }];
      expect(await post({ messages, functions, function_call: { name: "f" } })).toBe(200);
      expect(sent()).toMatchObject({ functions, function_call: { name: "f" } });
      expect(await post({ messages, tools })).toBe(200);
      expect(sent()).toMatchObject({ tools });
    });

    it("may choose among tools, and say null for any member", async () => {
      const messages = [{ role: "user", content: "x" }];
      const tools = [{ type: "function", function: { name: "f" } }];
      const tool_choice = { type: "allowed_tools", allowed_tools: { mode: "required", tools } };
      const nothing = { audio: null, prediction: null, web_search_options: null, n: null, stream: null };
      expect(await post({ messages, tools, tool_choice, ...nothing })).toBe(200);
      expect(sent()).toMatchObject({ tool_choice });
      expect(Object.keys(sent())).not.toContain("prediction");
      const many = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`member${index}`, 1]));
      for (const [choice, words] of [
        ["any", /^tool_choice: must be "none"/],
        [many, /^tool_choice: must have at most 16 items$/],
      ] as const) {
        const { body } = await world.post(agent(), "/openai/v1/chat/completions", {
          ...{ model: "good", messages, tools },
          tool_choice: choice,
        });
        expect(body.error).toMatchObject({
          param: "tool_choice",
          message: expect.stringMatching(words),
        });
      }
    });
  });
}
