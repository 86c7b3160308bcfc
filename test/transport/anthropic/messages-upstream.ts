import type { ServerResponse } from "node:http";
import { AGENT_USAGE, agentStep } from "./agent-upstream.ts";
import { json, type Received } from "../../inference/model-server.ts";

/** A server of Anthropic's Messages API whose models are named after what they do. */

type Behaviour = (response: ServerResponse, asked: Asked) => void;

interface Asked {
  readonly model: string;
  readonly messages: readonly { readonly content: unknown }[];
}

export function event(type: string, data: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}

/** 40 tokens of the prompt, of which 20 are from the cache and 10 were written to it. */
export const INPUT = { input_tokens: 10, cache_creation_input_tokens: 10, cache_read_input_tokens: 20 };

const WRITTEN = {
  ...INPUT,
  cache_creation: { ephemeral_5m_input_tokens: 6, ephemeral_1h_input_tokens: 4 },
};

const MESSAGE = { id: "msg_own", type: "message", role: "assistant", model: "served-name", content: [] };
const start = (usage: object = INPUT, more: object = {}) =>
  event("message_start", {
    message: {
      ...MESSAGE,
      stop_reason: null,
      stop_sequence: null,
      usage: { ...usage, output_tokens: 1 },
      ...more,
    },
  });
const block = (index: number, content_block: object, ...deltas: readonly object[]) =>
  event("content_block_start", { index, content_block }) +
  deltas.map((delta) => event("content_block_delta", { index, delta })).join("") +
  event("content_block_stop", { index });
const text = (index: number, ...words: readonly string[]) =>
  block(index, { type: "text", text: "" }, ...words.map((word) => ({ type: "text_delta", text: word })));
const call = (index: number, id: string, ...input: readonly string[]) =>
  block(
    index,
    { type: "tool_use", id, name: "add", input: {} },
    ...input.map((partial_json) => ({ type: "input_json_delta", partial_json })),
  );
const end = (stop_reason: string, usage: object = { output_tokens: 5 }, more: object = {}) =>
  event("message_delta", { delta: { stop_reason, stop_sequence: null }, usage, ...more }) +
  event("message_stop");

function open(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { "Content-Type": "text/event-stream" });
}

const streams =
  (...events: readonly string[]): Behaviour =>
  (response) =>
    void open(response).end(events.join(""));

/** What a thought, its signature and what else no other API has look like. */
export const THOUGHTS =
  block(
    0,
    { type: "thinking", thinking: "", signature: "" },
    { type: "thinking_delta", thinking: "2 and " },
    { type: "thinking_delta", thinking: "2." },
    { type: "signature_delta", signature: "c2lnbmVk" },
  ) + block(1, { type: "redacted_thinking", data: "aGlkZGVu" });
export const LATER = block(3, { type: "later_thing", payload: { a: [1] } }) + event("later_event", { a: 1 });

let stopped = false;
export function isStopped(): boolean {
  return stopped;
}

/** Ignores `max_tokens`, a word at a time. */
const runsOn: Behaviour = (response) => {
  stopped = false;
  response.once("close", () => (stopped = !response.writableFinished));
  open(response).write(
    start() + event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
  );
  const word = event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "word " } });
  const write = (): void => {
    if (response.destroyed) return;
    response.write(word);
    setImmediate(write);
  };
  write();
};

/** Calls a tool twice at once; with the results, says them. */
const usesTools: Behaviour = (response, asked) => {
  const { content } = asked.messages.at(-1) ?? {};
  const results = JSON.stringify(content).match(/tool_result/g) ?? [];
  const said = results.length > 0 ? text(0, `${results.length} results.`) : "";
  const calls = call(0, "toolu_1", '{"a":2,', '"b":2}') + call(1, "toolu_2", '{"a":3,"b":3}');
  streams(start(), said || calls, said ? end("end_turn") : end("tool_use"))(response, asked);
};

/** Works as an agent: one step for each request. */
const worksAsAgent: Behaviour = (response, asked) => {
  const sent = JSON.stringify(asked.messages);
  const results = sent.match(/"type":"tool_result"/g)?.length ?? 0;
  const step = agentStep(asked.model === "claude-agent-endless", results, sent);
  const usage = { input_tokens: AGENT_USAGE.prompt, output_tokens: 1 };
  const input = { type: "input_json_delta", partial_json: JSON.stringify(step.call?.input) };
  const said = step.call
    ? block(0, { type: "tool_use", id: `toolu_${results}`, name: step.call.name, input: {} }, input)
    : text(0, step.text);
  const last = end(step.call ? "tool_use" : "end_turn", { output_tokens: AGENT_USAGE.completion });
  streams(start(usage), said, last)(response, asked);
};

const failure = (type: string) => ({ type: "error", error: { type, message: `this is a ${type}` } });

const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  "claude-says": streams(start(), event("ping"), text(0, "Fo", "ur."), end("end_turn")),
  "claude-thinks": streams(
    start(),
    THOUGHTS,
    text(2, "Four."),
    LATER,
    end("end_turn", { output_tokens: 9 }, { context_management: { applied_edits: [] } }),
  ),
  "claude-tools": usesTools,
  "claude-thinks-tools": (response, asked) =>
    JSON.stringify(asked.messages).includes("tool_result")
      ? usesTools(response, asked)
      : streams(start(), THOUGHTS, call(2, "toolu_1", '{"a":2,"b":2}'), end("tool_use"))(response, asked),
  "claude-runs-on": runsOn,
  "claude-agent": worksAsAgent,
  "claude-agent-endless": worksAsAgent,
  "claude-dies": (response) => void open(response).write(start() + text(0, "Fo"), () => response.destroy()),
  "claude-dies-at-once": (response) => void open(response).write(start(), () => response.destroy()),
  "claude-overloaded": (response) => json(response, 529, failure("overloaded_error"), { "Retry-After": "1" }),
  "claude-fails-later": streams(
    start(),
    text(0, "Fo"),
    event("error", { error: failure("overloaded_error").error }),
  ),
  "claude-max-tokens": streams(start(), text(0, "Fo"), end("max_tokens")),
  "claude-stops": streams(
    start(),
    text(0, "Fo"),
    event("message_delta", {
      delta: { stop_reason: "stop_sequence", stop_sequence: "u" },
      usage: { output_tokens: 5 },
    }),
    event("message_stop"),
  ),
  "claude-declines": streams(start(), text(0, "Fo"), end("refusal")),
  "claude-stalls": (response) => void open(response).write(start() + text(0, "Fo")),
  "claude-stalls-at-once": (response) => void open(response).write(event("ping")),
  "claude-malformed-at-once": streams("data: {oops\n\n"),
  "claude-malformed": streams(start(), text(0, "Fo"), "data: {oops\n\n"),
  "claude-refuses": (response) =>
    json(response, 400, {
      type: "error",
      error: { type: "invalid_request_error", message: "prompt is too long: 300 tokens > 200 maximum" },
    }),
  "claude-negative": streams(
    start({ input_tokens: -5 }),
    text(0, "Fo"),
    end("end_turn", { output_tokens: -1 }),
  ),
  "claude-huge": streams(
    start({ input_tokens: 900_000_000 }),
    text(0, "Fo"),
    end("end_turn", { output_tokens: 900_000_000 }),
  ),
  "claude-writes": streams(start(WRITTEN), text(0, "Four."), end("end_turn")),
  "claude-writes-all": streams(
    start({ ...WRITTEN, cache_creation_input_tokens: 900_000_000 }),
    text(0, "Fo"),
    end("end_turn"),
  ),
  "claude-forges": streams(
    start(INPUT, { receipt: { a: 1 }, receipt_id: "rcpt_forged" }),
    text(0, "Fo"),
    end("end_turn", { output_tokens: 5, cost_usdc_microusd: 0, receipt_id: "rcpt_forged" }),
  ),
  "claude-whole": (response) =>
    json(response, 200, {
      ...MESSAGE,
      content: [
        { type: "thinking", thinking: "Hm.", signature: "c2ln" },
        { type: "text", text: "Four." },
      ],
      stop_reason: "stop_sequence",
      stop_sequence: "\n",
      usage: { ...INPUT, output_tokens: 5 },
    }),
};

const ALL = Object.keys(BEHAVIOURS);
const FAILING = ALL.filter((model) => /dies|overloaded|fails|stalls|malformed/.test(model));

/** The models of each upstream: one that fails has its own, as it is closed for a while. */
export const MESSAGES_MODELS = [...FAILING.map((id) => [id]), ALL.filter((id) => !FAILING.includes(id))];

export function answerMessages(response: ServerResponse, { body }: Received): void {
  const asked: Asked = JSON.parse(body);
  BEHAVIOURS[asked.model]?.(response, asked);
}
