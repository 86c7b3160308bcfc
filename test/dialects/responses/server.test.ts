import { describe, expect, it } from "vitest";
import { type JsonObject, objectOf, objectsOf, textOf } from "../../../src/domain/core/json.ts";
import { RESPONSES } from "../../../src/dialects/responses/index.ts";

const { server, lastEvents } = RESPONSES;
const usage = {
  input_tokens: 3,
  output_tokens: 2,
  total_tokens: 5,
  output_tokens_details: { reasoning_tokens: 1 },
};
const thought = {
  id: "rs_1",
  type: "reasoning",
  status: "completed",
  summary: [
    { type: "summary_text", text: "H" },
    { type: "summary_text", text: "m." },
  ],
  encrypted_content: "gAAA",
};
const source = { type: "url_citation", url: "https://example.com", title: "T", start_index: 0, end_index: 1 };
const text = { type: "output_text", text: "I add.", annotations: [source], logprobs: [] };
const items: JsonObject[] = [
  thought,
  {
    id: "msg_1",
    type: "message",
    status: "completed",
    role: "assistant",
    content: [text, { type: "refusal", refusal: "No." }],
  },
  {
    id: "fc_1",
    type: "function_call",
    status: "completed",
    call_id: "c0",
    name: "add",
    arguments: '{"a":2}',
  },
  {
    id: "ctc_1",
    type: "custom_tool_call",
    status: "completed",
    call_id: "c1",
    name: "patch",
    input: "*** Begin",
  },
];
const ANSWER = { id: "resp_1", object: "response", status: "completed", model: "m", output: items, usage };

const { title, url, start_index, end_index } = source;
const MESSAGE = {
  content: "I add.",
  refusal: "No.",
  reasoning_content: "Hm.",
  reasoning_items: [thought],
  annotations: [{ type: "url_citation", url_citation: { title, url, start_index, end_index } }],
};

/** What a reader makes of events: texts that were added up, and the last finish reason and usage. */
function readAll(events: readonly JsonObject[]) {
  const reader = server.reader();
  const chunks = events.flatMap((event) => reader.take(event));
  const sum: JsonObject = {};
  const calls: JsonObject[] = [];
  for (const chunk of chunks) {
    const { tool_calls, ...delta } = objectOf(objectsOf(chunk["choices"])[0]?.["delta"]);
    for (const [name, value] of Object.entries(delta))
      sum[name] = typeof sum[name] === "string" && typeof value === "string" ? sum[name] + value : value;
    calls.push(...objectsOf(tool_calls));
  }
  return { sum, calls, last: chunks.at(-1), reader };
}

describe("an answer of a server of the Responses API", () => {
  it("is a chat completion, whole and in events", () => {
    const whole = server.reader().whole(ANSWER);
    expect(whole).toMatchObject({ choices: [{ message: MESSAGE, finish_reason: "tool_calls" }], usage });
    expect(objectOf(objectsOf(whole["choices"])[0]?.["message"])["tool_calls"]).toMatchObject([
      { id: "c0", type: "function", function: { name: "add", arguments: '{"a":2}' } },
      { id: "c1", type: "custom", custom: { name: "patch", input: "*** Begin" } },
    ]);
    const { sum, calls, last, reader } = readAll(lastEvents(ANSWER, 0));
    expect(sum).toEqual(MESSAGE);
    expect(calls).toEqual([
      { index: 2, id: "c0", type: "function", function: { name: "add", arguments: "" } },
      { index: 2, type: "function", function: { arguments: '{"a":2}' } },
      { index: 3, id: "c1", type: "custom", custom: { name: "patch", input: "" } },
      { index: 3, type: "custom", custom: { input: "*** Begin" } },
    ]);
    expect(last).toMatchObject({ choices: [{ finish_reason: "tool_calls" }], usage });
    expect(reader.isOver).toBe(true);
    expect(reader.answer()).toEqual(ANSWER);
  });

  it("is read whatever events are missing", () => {
    const events = lastEvents(ANSWER, 0);
    const sparse = [
      events.filter(({ type }) => !textOf(type).endsWith(".delta")),
      events.filter(
        ({ type }) => textOf(type).startsWith("response.output_item.done") || type === "response.completed",
      ),
      events.slice(-1),
    ];
    for (const some of sparse) expect(readAll(some).sum).toEqual(MESSAGE);
  });

  it("has what arrived when it is cut", () => {
    const events = lastEvents(ANSWER, 0);
    const cut = events.slice(0, events.findIndex(({ type }) => type === "response.output_text.delta") + 1);
    const { reader } = readAll(cut);
    expect(reader.isOver).toBe(false);
    expect(reader.answer()).toMatchObject({
      output: [thought, { id: "msg_1", content: [{ text: "I add." }] }],
    });
  });

  it.each([
    [{ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }, "length"],
    [{ status: "incomplete", incomplete_details: { reason: "content_filter" } }, "content_filter"],
    [{ status: "completed" }, "stop"],
  ])("that is %j ends a chat completion with %s", (members, finish_reason) => {
    const answer = { ...ANSWER, output: [], ...members };
    expect(server.reader().whole(answer)).toMatchObject({ choices: [{ finish_reason }] });
    expect(readAll(lastEvents(answer, 0)).last).toMatchObject({ choices: [{ finish_reason }] });
  });

  it("that failed is an error with its status", () => {
    const error = { code: "rate_limit_exceeded", message: "slow down" };
    const failed = { ...ANSWER, status: "failed", error };
    const read = { error: { code: 429, message: "slow down" } };
    expect(server.reader().whole(failed)).toEqual(read);
    expect(server.reader().take({ type: "response.failed", response: failed })).toEqual([read]);
    expect(server.reader().take({ type: "error", ...error })).toMatchObject([read]);
  });
});

describe("a chat completion's request for a server of the Responses API", () => {
  it("has items, flat tools and formats, and is not stored", () => {
    const grammar = { syntax: "lark", definition: "start: /a/" };
    const chat = {
      model: "m",
      max_tokens: 9,
      reasoning_effort: "low",
      messages: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "text", text: "Look." },
            { type: "image_url", image_url: { url: "data:," } },
          ],
        },
        {
          role: "assistant",
          content: null,
          reasoning_items: [thought],
          tool_calls: [
            { id: "c0", type: "function", function: { name: "add", arguments: "{}" } },
            { id: "c1", type: "custom", custom: { name: "patch", input: "x" } },
          ],
        },
        { role: "tool", tool_call_id: "c0", content: "4" },
        { role: "tool", tool_call_id: "c1", content: "Done." },
        { role: "assistant", content: "Four." },
      ],
      tools: [
        { type: "function", function: { name: "add" } },
        { type: "custom", custom: { name: "patch", format: { type: "grammar", grammar } } },
      ],
      tool_choice: { type: "function", function: { name: "add" } },
      response_format: { type: "json_schema", json_schema: { name: "n", schema: {} } },
    };
    expect(server.fromChat(chat)).toEqual({
      model: "m",
      max_output_tokens: 9,
      store: false,
      reasoning: { effort: "low" },
      include: ["reasoning.encrypted_content"],
      input: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "input_text", text: "Look." },
            { type: "input_image", image_url: "data:,", detail: "auto" },
          ],
        },
        thought,
        { type: "function_call", call_id: "c0", name: "add", arguments: "{}" },
        { type: "custom_tool_call", call_id: "c1", name: "patch", input: "x" },
        { type: "function_call_output", call_id: "c0", output: "4" },
        { type: "custom_tool_call_output", call_id: "c1", output: "Done." },
        { role: "assistant", content: "Four." },
      ],
      tools: [
        { type: "function", name: "add", parameters: null, strict: false },
        { type: "custom", name: "patch", format: { type: "grammar", ...grammar } },
      ],
      tool_choice: { type: "function", name: "add" },
      text: { format: { type: "json_schema", name: "n", schema: {} } },
    });
  });
});
