import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { useChatWorld } from "../openai/chat-world.ts";

/** Signed and encrypted thoughts, which only their server reads, with clients of another API. */

const chat = useChatWorld();
const { world, receipts } = chat;
const sent = () => JSON.parse(chat.upstream.received.at(-1)?.body ?? "{}");
const anthropic = () =>
  new Anthropic({ baseURL: `${world.gateway.baseUrl}/anthropic`, apiKey: chat.agent.apiKey, maxRetries: 0 });

describe.each([false, true])("with a stream: %s", (stream) => {
  it("thoughts of a server of Messages come back to it signed, through clients of Responses", async () => {
    const params = {
      model: "claude-thinks-tools",
      tools: [{ type: "function" as const, name: "add", strict: false, parameters: { type: "object" } }],
      reasoning: { effort: "high" as const },
    };
    const { responses } = chat.client;
    const answer = await (stream
      ? responses.stream({ ...params, input: "2+2?" }).finalResponse()
      : responses.create({ ...params, input: "2+2?" }));
    const [thought] = answer.output;
    expect(answer.output.map(({ type }) => type).filter((type) => type !== "reasoning")).toEqual([
      "function_call",
    ]);
    expect(thought).toMatchObject({ type: "reasoning", summary: [{ text: "2 and 2." }] });
    const output = { type: "function_call_output" as const, call_id: "toolu_1", output: "4" };
    const input = [{ role: "user", content: "2+2?" }, ...answer.output, output];
    const ask = (model: string) =>
      world.post(chat.agent, "/openai/v1/responses", { ...params, model, input });
    expect((await ask(params.model)).body.output).toMatchObject([{ content: [{ text: "1 results." }] }]);
    expect(sent()).toMatchObject({
      output_config: { effort: "high" },
      messages: [
        { role: "user" },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "2 and 2.", signature: "c2lnbmVk" },
            { type: "redacted_thinking", data: "aGlkZGVu" },
            { type: "tool_use", id: "toolu_1", name: "add", input: { a: 2, b: 2 } },
          ],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1" }] },
      ],
    });
    expect(await receipts()).toHaveLength(2);
    // Servers of other APIs do not get them.
    await ask("r-says");
    expect(JSON.stringify(sent().input)).not.toContain("reasoning");
    await ask("good");
    expect(JSON.stringify(sent().messages)).not.toContain("toolgate");
  });

  it("reasoning of a server of Responses comes back to it encrypted, through clients of Messages", async () => {
    const params = {
      model: "r-thinks-tools",
      max_tokens: 500,
      tools: [{ name: "add", input_schema: { type: "object" as const } }],
    };
    const { messages } = anthropic();
    const first = { role: "user" as const, content: "2+2?" };
    const answer = await (stream
      ? messages.stream({ ...params, messages: [first] }).finalMessage()
      : messages.create({ ...params, messages: [first] }));
    expect(answer.content).toMatchObject([
      { type: "thinking", thinking: "Hm." },
      { type: "thinking", thinking: "" },
      { type: "tool_use", id: "c1", name: "add", input: { a: 2 } },
    ]);
    const result = { type: "tool_result" as const, tool_use_id: "c1", content: "4" };
    const turns = [
      first,
      { role: "assistant" as const, content: answer.content },
      { role: "user" as const, content: [result] },
    ];
    const last = await messages.create({ ...params, messages: turns });
    expect(last).toMatchObject({ content: [{ text: "It is 4." }], stop_reason: "end_turn" });
    const [, ...items] = sent().input;
    expect(items).toMatchObject([
      { type: "reasoning", id: "rs_up", summary: [{ text: "Hm." }], encrypted_content: "gAAA" },
      { type: "reasoning", encrypted_content: "gBBB" },
      { type: "function_call", call_id: "c1" },
      { type: "function_call_output", call_id: "c1", output: "4" },
    ]);
    expect(await receipts()).toHaveLength(2);
    await messages.create({ ...params, model: "claude-says", messages: turns });
    expect(sent().messages[1].content).toMatchObject([{ type: "tool_use" }]);
    await messages.create({ ...params, model: "good", messages: turns });
    expect(sent().messages[1]).toMatchObject({ reasoning_content: "Hm." });
  });
});

describe("records that a caller of chat completions makes up", () => {
  const image = {
    type: "image",
    source: { type: "url", url: "a" },
    thinking: "x",
    signature: "y",
    data: "z",
  };
  const item = { type: "item_reference", id: "rs_other", encrypted_content: "x" };
  it.each(["claude-says", "r-says"])("are left out of what servers get: %s", async (model) => {
    const made = { role: "assistant", content: "4", thinking_blocks: [image], reasoning_items: [item] };
    const { status } = await chat.post({ model, messages: [{ role: "user", content: "2+2?" }, made] });
    expect([status, JSON.stringify(sent())]).toEqual([200, expect.not.stringMatching(/image|rs_other/)]);
  });
});
