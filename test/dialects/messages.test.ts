import type Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { fromChat } from "../../src/dialects/messages/from-chat.ts";
import { MESSAGES } from "../../src/dialects/messages/index.ts";
import { BLOCKS, BODY, TOOLS } from "../../src/dialects/messages/members.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/domain/core/json.ts";

const TERMS = { maxOutputTokens: 500 };
const OTHER = TERMS;
const SAME = { ...TERMS, api: "messages" as const };
const BASE = { model: "m", max_tokens: 10, messages: [{ role: "user", content: "2+2?" }] };

/** Members of the official client's type; the compiler names those that a later one has. */
type Members = Record<
  keyof Anthropic.Beta.Messages.MessageCreateParamsNonStreaming | "temperature" | "top_p" | "top_k",
  JsonValue
>;

/** A value of each member that is converted, or refused by its form otherwise. */
const VALUES: Members = {
  ...BASE,
  system: "Be short.",
  temperature: 1,
  top_p: 1,
  top_k: 5,
  stop_sequences: ["\n"],
  tools: [{ name: "add", input_schema: {} }],
  tool_choice: { type: "auto" },
  output_config: { effort: "low" },
  output_format: { type: "json_schema", schema: {} },
  betas: ["one"],
  billing_policy: {},
  cache_control: { type: "ephemeral" },
  compaction: {},
  container: "c",
  context_management: {},
  diagnostics: {},
  fallback_credit_token: "t",
  fallbacks: {},
  inference_geo: "eu",
  mcp_servers: [{}],
  metadata: {},
  service_tier: "auto",
  speed: "fast",
  stream: false,
  thinking: { type: "adaptive" },
  thread: { type: "create" },
  user_profile_id: "u",
  workspace_id: "w",
};
const { stream: _, ...READ } = VALUES;

/** Blocks that need more than a type. */
const BLOCK_VALUES: Readonly<Record<string, object>> = {
  text: { text: "x" },
  image: { source: { type: "base64", media_type: "image/png", data: "AA==" } },
  document: { source: { type: "text", data: "x" } },
  tool_use: { id: "t", name: "add", input: {} },
  tool_result: { tool_use_id: "t", content: "x" },
  thinking: { thinking: "x", signature: "s" },
};

const TARGETS = [
  ["same", SAME],
  ["other", OTHER],
] as const;

/** What becomes of something: an error, a note, or neither; and whether a server gets it. */
function outcomeOf(body: JsonObject, target: typeof SAME | typeof OTHER, mark: string) {
  try {
    const request = MESSAGES.read({ ...BASE, ...body }, target);
    const sent = JSON.stringify(request.passed ?? request.chat);
    const { notes = [] } = request.answerOf({}, undefined);
    return { notes, isSent: sent.includes(mark), error: undefined };
  } catch (error) {
    return { notes: [], isSent: false, error: error instanceof Error ? error.message : undefined };
  }
}

function check(fate: string, path: string, { notes, isSent, error }: ReturnType<typeof outcomeOf>): void {
  if (fate === "refused") return expect(error).toContain(`params.${path}: `);
  expect(error).toBeUndefined();
  if (fate === "left out")
    return expect([notes, isSent]).toEqual([[expect.stringContaining(`${path}: left out; `)], false]);
  expect(notes).toEqual([]);
  if (fate === "ignored") return expect(isSent).toBe(false);
  if (fate === "passed") expect(isSent).toBe(true);
}

describe.each(TARGETS)("for servers of the %s API", (kind, target) => {
  it("the table knows each member of the official client", () => {
    expect(Object.keys(BODY).toSorted()).toEqual(Object.keys(READ).toSorted());
  });

  it.each(Object.entries(READ))("member %s", (name, value) => {
    const fate = BODY[name]?.[kind] ?? "";
    const mark = name === "betas" ? "anthropic-beta" : `"${name}":`;
    const tools = name === "tool_choice" ? { tools: [{ name: "add" }] } : {};
    check(fate, name, outcomeOf({ ...tools, [name]: value }, target, mark));
  });

  it.each(Object.entries(BLOCKS))("block %s", (type, rules) => {
    const content = [
      { type, ...BLOCK_VALUES[type] },
      { type: "text", text: "2+2?" },
    ];
    const outcome = outcomeOf({ messages: [{ role: "user", content }] }, target, type);
    check(rules[kind], `content.${type}`, outcome);
  });

  it.each(Object.entries(TOOLS))("tool %s", (type, rules) => {
    const tools = [{ type: `${type}_20250101`, name: "it" }];
    check(rules[kind], `tools.${type}`, outcomeOf({ tools }, target, type));
  });

  it("leaves out what no table has, or passes it where the operator says so", () => {
    check("left out", "later", outcomeOf({ later: 1 }, target, '"later":'));
    const open = MESSAGES.read({ ...BASE, later: 1 }, { ...SAME, passesUnknown: true });
    expect(open.passed?.body).toMatchObject({ later: 1 });
  });
});

describe("what a server of the same API does not get", () => {
  it("is removed from messages, wherever it is", () => {
    const later = { type: "later" };
    const text = { type: "text", text: "x" };
    const content = [later, { type: "tool_result", tool_use_id: "t", content: [later, text] }];
    const { passed } = MESSAGES.read({ ...BASE, messages: [{ role: "user", content }] }, SAME);
    const left = [{ type: "tool_result", tool_use_id: "t", content: [text] }];
    expect(passed?.body).toMatchObject({ messages: [{ role: "user", content: left }] });
  });

  it("is also a tool that is added in mid-conversation, and a beta that changes the price", () => {
    const added = (tool: JsonObject) => ({ type: "tool_addition", tool });
    const search = added({ type: "web_search_20250305", name: "web_search" });
    const own = [added({ type: "tool_reference", name: "a" }), added({ name: "b", input_schema: {} })];
    const messages = [{ role: "user", content: [search, ...own] }];
    const request = MESSAGES.read({ ...BASE, messages, betas: ["context-1m-2025-08-07", "one"] }, SAME);
    expect(request.passed).toMatchObject({
      body: { messages: [{ content: own }] },
      headers: { "anthropic-beta": "one" },
    });
    expect(request.answerOf({}, undefined)["notes"]).toEqual([
      "tools.web_search: left out; no quote covers what it costs",
      "betas.context-1m: left out; it changes the price",
    ]);
  });
});

describe("conversions", () => {
  const turns = [
    {
      role: "user",
      content: [
        { type: "text", text: "2+2?" },
        { type: "image", source: { type: "base64", media_type: "image/png", data: "AA==" } },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "text", text: "I add." },
        { type: "tool_use", id: "t1", name: "add", input: { a: 2 } },
        { type: "tool_use", id: "t2", name: "add", input: {} },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "4" }] },
        { type: "tool_result", tool_use_id: "t2", content: [{ type: "text", text: "5" }] },
        { type: "text", text: "Go on." },
      ],
    },
  ];
  const body = {
    model: "m",
    max_tokens: 10,
    temperature: 0.5,
    top_p: 0.9,
    stop_sequences: ["\n"],
    system: [{ type: "text", text: "Be short." }],
    messages: turns,
    tools: [{ name: "add", description: "Adds.", input_schema: { type: "object" } }],
    output_config: { effort: "high", format: { type: "json_schema", schema: { type: "object" } } },
  };

  it("lose nothing that both APIs have, there and back", () => {
    expect(fromChat(MESSAGES.read(body, OTHER).chat)).toEqual(body);
    const choices = [
      { type: "any" },
      { type: "tool", name: "add" },
      { type: "none" },
      { type: "auto", disable_parallel_tool_use: true },
    ];
    for (const tool_choice of choices)
      expect(fromChat(MESSAGES.read({ ...body, tool_choice }, OTHER).chat)).toMatchObject({ tool_choice });
  });

  it("keep blocks apart whose calls come in pieces beside each other", () => {
    const events = MESSAGES.read(BASE, OTHER).events(5);
    const delta = (index: number, of: object) => ({
      id: "chatcmpl-1",
      model: "m",
      choices: [{ delta: { tool_calls: [{ index, ...of }] } }],
    });
    const made = [
      delta(0, { id: "a", function: { name: "one", arguments: '{"x":' } }),
      delta(1, { id: "b", function: { name: "two", arguments: "{}" } }),
      delta(0, { function: { arguments: "1}" } }),
    ].flatMap((chunk) => events.take(chunk));
    const inputs = new Map<JsonValue, string>();
    for (const { type, index = null, delta: part } of [...made, ...events.end({})])
      if (type === "content_block_delta" && isJsonObject(part))
        inputs.set(
          index,
          (inputs.get(index) ?? "") + JSON.stringify(part["partial_json"]).slice(1, -1).replaceAll("\\", ""),
        );
    expect([...inputs]).toEqual([
      [0, '{"x":1}'],
      [1, "{}"],
    ]);
    const stops = [...made].filter(({ type }) => type === "content_block_stop");
    expect(stops).toEqual([]);
  });

  it("keep the text of a call that was cut off", () => {
    const tool_calls = [{ id: "t", type: "function", function: { name: "add", arguments: '{"a":' } }];
    const answer = MESSAGES.read(BASE, OTHER).answerOf(
      { id: "chatcmpl-1", model: "m", choices: [{ message: { tool_calls }, finish_reason: "length" }] },
      undefined,
    );
    expect(answer).toMatchObject({
      stop_reason: "max_tokens",
      content: [{ type: "tool_use", input: {}, partial_json: '{"a":' }],
    });
    const events = JSON.stringify(MESSAGES.lastEvents(answer, 0));
    expect(events).toContain(JSON.stringify({ type: "input_json_delta", partial_json: '{"a":' }));
  });
});
