import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonObject, parsedJson } from "../../../src/domain/core/json.ts";
import { RESPONSES } from "../../../src/dialects/responses/index.ts";

const ANY = { maxOutputTokens: 1_000 };
const SAME = { ...ANY, api: "responses" as const };
const codex = parsedJson(readFileSync(new URL("codex-request.json", import.meta.url), "utf8"));
if (!isJsonObject(codex)) throw new Error("no request");
const { stream: _, ...recorded } = codex;

const chatOf = (body: JsonObject, target = ANY) => RESPONSES.read({ model: "m", ...body }, target).chat;
const notesOf = (body: JsonObject, target: typeof ANY = ANY) =>
  RESPONSES.read({ model: "m", ...body }, target).answerOf({ id: "chatcmpl-1" }, undefined)["notes"];

describe("a request of the Responses API for servers of chat completions", () => {
  it("of Codex keeps its functions, flattens its namespace and leaves out its search with a note", () => {
    const chat = chatOf(recorded);
    const names = JSON.stringify(chat["tools"]).match(/"name":"[^"]*"/g);
    expect(names).toEqual(
      [
        "exec_command write_stdin request_user_input view_image",
        "multi_agent_v1__close_agent multi_agent_v1__resume_agent multi_agent_v1__send_input",
        "multi_agent_v1__spawn_agent multi_agent_v1__wait_agent get_goal create_goal update_goal",
      ]
        .flatMap((line) => line.split(" "))
        .map((name) => `"name":"${name}"`),
    );
    expect(chat["messages"]).toMatchObject([
      { role: "system" },
      { role: "user" },
      { role: "user", content: "Say hi" },
    ]);
    expect(Object.keys(chat).toSorted()).toEqual(
      ["messages", "model", "parallel_tool_calls", "tool_choice", "tools"].toSorted(),
    );
    expect(notesOf(recorded)).toEqual(["tools.web_search: left out; no quote covers what it costs"]);
  });

  it("has what an assistant thinks, says and calls in one message, and images after the results", () => {
    const image = { type: "input_image", image_url: "data:image/png;base64,AA==", detail: "low" };
    const input = [
      { role: "developer", content: "Be brief." },
      { role: "user", content: [{ type: "input_text", text: "Look." }] },
      {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "Hm." }],
        encrypted_content: "x",
      },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "I look." }] },
      { type: "function_call", call_id: "c1", name: "look", namespace: "eyes", arguments: "{}" },
      { type: "custom_tool_call", call_id: "c2", name: "patch", input: "*** Begin" },
      { type: "function_call_output", call_id: "c1", output: [{ type: "input_text", text: "Here." }, image] },
      { type: "custom_tool_call_output", call_id: "c2", output: "Done." },
      { type: "web_search_call", id: "ws_1", status: "completed" },
      { role: "assistant", content: "A cat." },
    ];
    expect(chatOf({ instructions: "You see.", input })["messages"]).toEqual([
      { role: "system", content: "You see.\n\nBe brief." },
      { role: "user", content: "Look." },
      {
        role: "assistant",
        content: "I look.",
        reasoning_content: "Hm.",
        tool_calls: [
          { id: "c1", type: "function", function: { name: "eyes__look", arguments: "{}" } },
          { id: "c2", type: "custom", custom: { name: "patch", input: "*** Begin" } },
        ],
      },
      { role: "tool", tool_call_id: "c1", content: "Here." },
      { role: "tool", tool_call_id: "c2", content: "Done." },
      { role: "user", content: [{ type: "image_url", image_url: { url: image.image_url, detail: "low" } }] },
      { role: "assistant", content: "A cat." },
    ]);
    expect(notesOf({ input })).toEqual([
      "input.reasoning.encrypted_content: left out; only the server that encrypted it can read it",
      "input.web_search_call: left out; it is a record of another server's tool",
    ]);
  });

  it("has formats, efforts, choices and limits under the names of chat completions", () => {
    const schema = { type: "object" };
    const grammar = { type: "grammar", syntax: "lark", definition: "start: /a/" };
    const chat = chatOf({
      input: "Hi",
      max_output_tokens: 2_000,
      temperature: 0.5,
      reasoning: { effort: "low", summary: "auto" },
      text: { verbosity: "low", format: { type: "json_schema", name: "n", schema, strict: true } },
      tools: [
        { type: "function", name: "f", parameters: schema, strict: false },
        { type: "custom", name: "p", format: grammar },
      ],
      tool_choice: { type: "allowed_tools", mode: "required", tools: [{ type: "custom", name: "p" }] },
      include: ["message.output_text.logprobs"],
      top_logprobs: 2,
    });
    expect(chat).toEqual({
      model: "m",
      messages: [{ role: "user", content: "Hi" }],
      max_completion_tokens: 1_000,
      temperature: 0.5,
      reasoning_effort: "low",
      verbosity: "low",
      response_format: { type: "json_schema", json_schema: { name: "n", schema, strict: true } },
      tools: [
        { type: "function", function: { name: "f", parameters: schema } },
        {
          type: "custom",
          custom: {
            name: "p",
            format: { type: "grammar", grammar: { syntax: "lark", definition: "start: /a/" } },
          },
        },
      ],
      tool_choice: {
        type: "allowed_tools",
        allowed_tools: { mode: "required", tools: [{ type: "custom", custom: { name: "p" } }] },
      },
      logprobs: true,
      top_logprobs: 2,
    });
  });

  it.each([
    [{ previous_response_id: "resp_1" }, "params.previous_response_id: nothing is kept between calls"],
    [{ conversation: "conv_1" }, "params.conversation: nothing is kept"],
    [{ background: true }, "params.background: answers are not made in the background"],
    [{ prompt: { id: "pmpt_1" } }, "params.prompt: no prompts are kept"],
    [{ input: [{ type: "item_reference", id: "msg_1" }] }, "params.input.item_reference: nothing is kept"],
    [{ input: [{ type: "shell_call" }] }, "params.input.shell_call: servers of this model lack it"],
    [
      { input: [{ role: "user", content: [{ type: "input_file" }] }] },
      "input[0].content[0].input_file: has no price",
    ],
    [{ input: [{ role: "user", content: [{ type: "input_image", file_id: "f" }] }] }, "no files are stored"],
    [{ input: [7] }, "params.input[0]: must be an object"],
    [{ input: {} }, "params.input: must be a list"],
    [{ input: null }, "params.input: is required"],
    [{ instructions: [], text: 1 }, "params.text: must be an object"],
    [{ tool_choice: { type: "web_search" }, tools: [{ type: "web_search" }] }, "params.tool_choice"],
    [{ tools: [{ type: "function" }] }, "params.tools[0].name: is required"],
    [{ max_output_tokens: 0 }, "params.max_output_tokens: must be"],
  ])("is refused by name for %j", (members, words) => {
    expect(() => chatOf({ input: "Hi", ...members })).toThrow(words);
  });

  it("says no more for values that are defaults, and notes what it does not know", () => {
    expect(notesOf({ input: "Hi", background: false, truncation: "disabled", store: true })).toBeUndefined();
    expect(notesOf({ input: "Hi", truncation: "auto", from_the_future: 1 })).toEqual([
      "truncation: left out; servers of this model lack it",
      "from_the_future: left out; the gateway does not know it",
    ]);
  });
});

describe("a request of the Responses API for servers of that API", () => {
  it("goes as it came, but for storage, the limit and what has no price", () => {
    const { passed } = RESPONSES.read(recorded, SAME);
    const { tools, input } = recorded;
    if (!Array.isArray(tools)) throw new Error("no tools");
    expect(passed).toEqual({
      api: "responses",
      body: {
        input,
        tools: tools.slice(0, -1),
        tool_choice: "auto",
        parallel_tool_calls: true,
        reasoning: { summary: "auto" },
        include: ["reasoning.encrypted_content"],
        prompt_cache_key: recorded["prompt_cache_key"],
        max_output_tokens: 1_000,
        store: false,
      },
    });
    const thought = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "x" };
    expect(notesOf({ input: [thought] }, SAME)).toBeUndefined();
  });

  it("has nothing that the price does not cover", () => {
    const message = { role: "user", content: "Hi" };
    const thought = { type: "reasoning", summary: [], encrypted_content: "long" };
    const search = { type: "web_search" };
    const inner = { type: "namespace", name: "n", tools: [search] };
    const added = { type: "additional_tools", role: "developer", tools: [search] };
    const { chat, passed } = RESPONSES.read(
      {
        model: "m",
        input: [{ type: "from_the_future", text: "x" }, message, thought, added],
        tools: [inner],
      },
      SAME,
    );
    expect(passed?.body).toEqual({ input: [message, thought], max_output_tokens: 1_000, store: false });
    expect(JSON.stringify(chat["messages"])).toContain("long");
  });
});
