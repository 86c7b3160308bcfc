import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { type JsonObject, textOf } from "../../../src/domain/core/json.ts";
import { RESPONSES } from "../../../src/dialects/responses/index.ts";

const HEAD = { id: "chatcmpl-01ab", created: 7, model: "m" };
const USAGE = {
  prompt_tokens: 3,
  completion_tokens: 2,
  total_tokens: 5,
  completion_tokens_details: { reasoning_tokens: 1 },
};
const tools = [
  {
    type: "namespace",
    name: "math",
    description: "",
    tools: [{ type: "function", name: "add", parameters: {}, strict: false }],
  },
];
const asked = { model: "m", input: "2+2?", tools };

const DELTAS: JsonObject[] = [
  { role: "assistant", reasoning_content: "Hm" },
  { reasoning_content: "." },
  { content: "I a" },
  { content: "dd." },
  { tool_calls: [{ index: 0, id: "c0", type: "function", function: { name: "math__add", arguments: "" } }] },
  { tool_calls: [{ index: 0, function: { arguments: '{"a":2}' } }] },
  { tool_calls: [{ index: 1, id: "c1", type: "custom", custom: { name: "patch", input: "*** Be" } }] },
  { tool_calls: [{ index: 1, custom: { input: "gin" } }] },
];
const MESSAGE: JsonObject = {
  role: "assistant",
  content: "I add.",
  reasoning_content: "Hm.",
  tool_calls: [
    { id: "c0", type: "function", function: { name: "math__add", arguments: '{"a":2}' } },
    { id: "c1", type: "custom", custom: { name: "patch", input: "*** Begin" } },
  ],
};

function completionOf(message: JsonObject, finish: JsonObject = { finish_reason: "tool_calls" }): JsonObject {
  return { ...HEAD, choices: [{ index: 0, message, ...finish }], usage: USAGE };
}

/** The events of a stream, and its answer. */
function streamed(deltas: readonly JsonObject[], completion: JsonObject) {
  const request = RESPONSES.read(asked, { maxOutputTokens: 100 });
  const maker = request.events(1);
  const before = deltas.flatMap((delta) => maker.take({ ...HEAD, choices: [{ index: 0, delta }] }));
  const events = [...before, ...maker.end(completion)];
  const answer = request.answerOf(completion, undefined);
  return { events: [...events, ...RESPONSES.lastEvents(answer, events.length)], answer };
}

/** The official client's stream of the events. */
function clientOf(events: readonly JsonObject[]) {
  const text = events
    .map((event) => `event: ${textOf(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`)
    .join("");
  const headers = { "content-type": "text/event-stream" };
  const fetch = () => Promise.resolve(new Response(text, { headers }));
  const client = new OpenAI({ apiKey: "k", baseURL: "http://127.0.0.1/v1", fetch, maxRetries: 0 });
  return client.responses.stream({ model: "m", input: "2+2?" });
}

describe("the events of a response", () => {
  const { events, answer } = streamed(DELTAS, completionOf(MESSAGE));

  it("come in order with their numbers", () => {
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, at) => at));
    expect(events.map(({ type }) => textOf(type).replace("response.", ""))).toEqual([
      "created",
      "in_progress",
      "output_item.added",
      "reasoning_summary_part.added",
      "reasoning_summary_text.delta",
      "reasoning_summary_text.delta",
      "reasoning_summary_text.done",
      "reasoning_summary_part.done",
      "output_item.done",
      "output_item.added",
      "content_part.added",
      "output_text.delta",
      "output_text.delta",
      "output_text.done",
      "content_part.done",
      "output_item.done",
      "output_item.added",
      "function_call_arguments.delta",
      "function_call_arguments.done",
      "output_item.done",
      "output_item.added",
      "custom_tool_call_input.delta",
      "custom_tool_call_input.delta",
      "custom_tool_call_input.done",
      "output_item.done",
      "completed",
    ]);
  });

  it("make the official client's answer, with the callers' names of tools", async () => {
    const final = await clientOf(events).finalResponse();
    expect(final).toMatchObject({
      id: "resp_01ab",
      status: "completed",
      output_text: "I add.",
      store: false,
      usage: {
        input_tokens: 3,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 2,
        output_tokens_details: { reasoning_tokens: 1 },
        total_tokens: 5,
      },
    });
    expect(final.output).toMatchObject([
      { id: "rs_01ab00", type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }] },
      {
        id: "msg_01ab01",
        type: "message",
        role: "assistant",
        content: [{ type: "output_text", text: "I add." }],
      },
      {
        id: "fc_01ab02",
        type: "function_call",
        call_id: "c0",
        namespace: "math",
        name: "add",
        arguments: '{"a":2}',
      },
      { id: "ctc_01ab03", type: "custom_tool_call", call_id: "c1", name: "patch", input: "*** Begin" },
    ]);
    expect(final.output).toMatchObject(
      events.flatMap(({ type, item }) => (type === "response.output_item.done" ? [item] : [])),
    );
  });

  it("of a stored answer are those of its stream, each text in one piece", async () => {
    const stored = RESPONSES.lastEvents(answer, 0);
    const isFirst = ({ type }: JsonObject, at: number, all: readonly JsonObject[]) =>
      type !== all[at - 1]?.["type"];
    const namesOf = (list: readonly JsonObject[]) => list.filter(isFirst).map(({ type }) => type);
    expect(namesOf(stored)).toEqual(namesOf(events));
    expect(stored.at(-1)).toMatchObject({ response: answer });
    expect((await clientOf(stored).finalResponse()).output).toEqual(
      (await clientOf(events).finalResponse()).output,
    );
  });

  it("end as incomplete, or as failed where the server broke off, with the charge", () => {
    const cut = streamed([{ content: "Fo" }], completionOf({ content: "Fo" }, { finish_reason: "length" }));
    expect(cut.events.at(-1)).toMatchObject({
      type: "response.incomplete",
      response: { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
    });
    const finish = { finish_reason: "length", original_finish_reason: "connection_lost" };
    const broken = streamed([{ content: "Fo" }], completionOf({ content: "Fo" }, finish));
    expect(broken.events.at(-1)).toMatchObject({
      type: "response.failed",
      response: {
        status: "failed",
        error: {
          code: "server_error",
          message: expect.stringContaining("broke off its answer after 2 characters"),
        },
        output: [{ content: [{ text: "Fo" }] }],
      },
    });
  });

  it("keep calls apart whose arguments arrive by turns, and wait for a call's name", () => {
    const call = (index: number, called: JsonObject, id?: string) => ({
      tool_calls: [{ index, ...(id !== undefined && { id, type: "function" }), function: called }],
    });
    const { events } = streamed(
      [
        call(0, { arguments: "" }, "c0"),
        call(0, { name: "one", arguments: '{"a"' }),
        call(1, { name: "two", arguments: '{"b"' }, "c1"),
        call(0, { arguments: ":1}" }),
        call(1, { arguments: ":2}" }),
      ],
      completionOf({ content: null }),
    );
    const done = events.filter(({ type }) => type === "response.function_call_arguments.done");
    expect(done).toMatchObject([
      { output_index: 0, arguments: '{"a":1}' },
      { output_index: 1, arguments: '{"b":2}' },
    ]);
  });

  it("have refusals, sources and log probabilities where a message has them", async () => {
    const logprob = { token: "Fo", logprob: -1, bytes: [70, 111], top_logprobs: [] };
    const source = { url: "https://example.com", title: "T", start_index: 0, end_index: 2 };
    const request = RESPONSES.read(asked, { maxOutputTokens: 100 });
    const message = {
      content: "Fo",
      refusal: "No.",
      annotations: [{ type: "url_citation", url_citation: source }],
    };
    const choice = { index: 0, message, logprobs: { content: [logprob] }, finish_reason: "stop" };
    const answer = request.answerOf({ ...HEAD, choices: [choice] }, undefined);
    const text = {
      type: "output_text",
      text: "Fo",
      annotations: [{ type: "url_citation", ...source }],
      logprobs: [logprob],
    };
    expect(answer["output"]).toMatchObject([{ content: [text, { type: "refusal", refusal: "No." }] }]);
    const final = await clientOf(RESPONSES.lastEvents(answer, 0)).finalResponse();
    expect(final).toMatchObject({ output: answer["output"] });
  });
});
