import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { RESPONSES } from "../../../src/dialects/responses/index.ts";
import { CHAT_BODY, fromChat } from "../../../src/dialects/responses/from-chat.ts";
import { BODY, ITEMS, PARTS, TOOLS } from "../../../src/dialects/responses/members.ts";
import type { JsonObject, JsonValue } from "../../../src/domain/core/json.ts";

const TERMS = { maxOutputTokens: 500 };
const SAME = { ...TERMS, api: "responses" as const };
const TARGETS = [
  ["same", SAME],
  ["other", TERMS],
] as const;
const BASE = { model: "m", input: "2+2?" };
const ADD = { type: "function", name: "add", parameters: {}, strict: false };

/** Members of the official client's type, of which the compiler names those of a later one, and Codex's. */
type Members = Record<keyof OpenAI.Responses.ResponseCreateParamsNonStreaming | "client_metadata", JsonValue>;

const VALUES: Members = {
  ...BASE,
  access_programs: [{}],
  background: true,
  client_metadata: { k: "v" },
  context_management: [{ type: "compaction" }],
  conversation: "conv_1",
  image: {},
  include: ["message.output_text.logprobs"],
  instructions: "Be short.",
  max_output_tokens: 10,
  max_tool_calls: 2,
  metadata: { k: "v" },
  moderation: { model: "m" },
  parallel_tool_calls: true,
  previous_response_id: "resp_1",
  prompt: { id: "pmpt_1" },
  prompt_cache_key: "k",
  prompt_cache_options: { mode: "explicit" },
  prompt_cache_retention: "24h",
  reasoning: { effort: "low" },
  safety_identifier: "s",
  service_tier: "flex",
  store: true,
  stream: false,
  stream_options: { include_obfuscation: false },
  temperature: 1,
  text: { verbosity: "low" },
  tool_choice: "auto",
  tools: [ADD],
  top_logprobs: 2,
  top_p: 1,
  truncation: "auto",
  user: "u",
};
const { stream: _, ...READ } = VALUES;

const ITEM_VALUES: Readonly<Record<string, object>> = {
  message: { role: "user", content: "x" },
  function_call: { call_id: "c", name: "add", arguments: "{}" },
  function_call_output: { call_id: "c", output: "4" },
  custom_tool_call: { call_id: "c", name: "patch", input: "x" },
  custom_tool_call_output: { call_id: "c", output: "x" },
  reasoning: { summary: [{ type: "summary_text", text: "Hm." }] },
};
const PART_VALUES: Readonly<Record<string, object>> = {
  refusal: { refusal: "x" },
  input_image: { image_url: "data:image/png;base64,AA==" },
};

/** What becomes of something: an error, notes, or neither; and what a server gets. */
function outcomeOf(body: JsonObject, target: typeof SAME | typeof TERMS) {
  try {
    const request = RESPONSES.read({ ...BASE, ...body }, target);
    const { notes = [] } = request.answerOf({}, undefined);
    return { notes, sent: JSON.stringify(request.passed?.body ?? request.chat), error: undefined };
  } catch (error) {
    return { notes: [], sent: "", error: error instanceof Error ? error.message : undefined };
  }
}

/** @param mark what a server gets of something that is passed */
function check(
  fate: string,
  path: string,
  { notes, sent, error }: ReturnType<typeof outcomeOf>,
  mark: string,
): void {
  if (fate === "refused") return expect(error).toContain(`params.${path}: `);
  expect(error).toBeUndefined();
  expect(notes).toEqual(fate === "left out" ? [expect.stringContaining(`${path}: left out; `)] : []);
  if (fate === "passed") expect(sent).toContain(mark);
  if (fate === "left out" || fate === "ignored") expect(sent).not.toContain(mark);
}

describe.each(TARGETS)("for servers of the %s API", (kind, target) => {
  it("the table knows each member of the official client", () => {
    expect(Object.keys(BODY).toSorted()).toEqual(Object.keys(READ).toSorted());
  });

  it.each(Object.entries(READ))("member %s", (name, value) => {
    const mark = name === "store" ? '"store":true' : `"${name}":`;
    check(BODY[name]?.[kind] ?? "", name, outcomeOf({ tools: [ADD], [name]: value }, target), mark);
  });

  it.each(Object.entries(ITEMS).filter(([name]) => !name.includes(".")))("item %s", (type, rules) => {
    const item = { type, ...ITEM_VALUES[type] };
    check(rules[kind], `input.${type}`, outcomeOf({ input: [item] }, target), `"type":"${type}"`);
  });

  it.each(Object.entries(PARTS))("part %s", (type, rules) => {
    const content = [{ type, text: "x", ...PART_VALUES[type] }];
    const outcome = outcomeOf({ input: [{ role: "user", content }] }, target);
    check(rules[kind], `input[0].content[0].${type}`, outcome, `"type":"${type}"`);
  });

  it.each(Object.entries(TOOLS))("tool %s", (type, rules) => {
    const tool = { type, name: "it", tools: [ADD] };
    check(rules[kind], `tools.${type}`, outcomeOf({ tools: [ADD, tool] }, target), `"type":"${type}"`);
  });
});

describe("a chat completion's request for servers of Responses", () => {
  const chat: JsonObject = {
    model: "m",
    messages: [{ role: "user", content: "2+2?" }],
    max_tokens: 5,
    max_completion_tokens: 5,
    temperature: 1,
    top_p: 1,
    tools: [{ type: "function", function: { name: "add" } }],
    tool_choice: "auto",
    parallel_tool_calls: true,
    reasoning_effort: "low",
    verbosity: "low",
    response_format: { type: "json_object" },
    logprobs: true,
    top_logprobs: 2,
  };

  it("changes with each member that is converted", () => {
    const converted = Object.keys(CHAT_BODY).filter((name) => CHAT_BODY[name]?.other === "converted");
    expect(converted.toSorted()).toEqual(Object.keys(chat).toSorted());
    for (const name of converted) {
      const { [name]: _, ...others } = chat;
      // The two limits are one.
      const isLimit = name.startsWith("max_");
      expect(fromChat(isLimit ? { [name]: 5 } : others)).not.toEqual(fromChat(isLimit ? {} : chat));
    }
  });
});
