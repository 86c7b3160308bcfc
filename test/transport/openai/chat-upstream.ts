import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { AGENT_USAGE, agentStep } from "../anthropic/agent-upstream.ts";
import { answerMessages } from "../anthropic/messages-upstream.ts";
import { embed } from "./embedding-upstream.ts";
import { respond } from "../responses/responses-upstream.ts";
import { json, modelServer, type ModelServer } from "../../inference/model-server.ts";

/** What a request to the upstream contains. */
interface Asked {
  model: string;
  messages: { role: string; content: unknown }[];
  [member: string]: unknown;
}

type Behaviour = (response: ServerResponse, asked: Asked) => void | Promise<void>;

const HEAD = { id: "c1", object: "chat.completion.chunk", created: 1, model: "served-name" };
export const USAGE = { prompt_tokens: 11, completion_tokens: 2, total_tokens: 13 };

function event(delta: object, finish_reason: string | null = null, more: object = {}): string {
  return `data: ${JSON.stringify({ ...HEAD, choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`;
}
const END = `data: ${JSON.stringify({ ...HEAD, choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`;

function open(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { "Content-Type": "text/event-stream" });
}

function says(...words: readonly string[]): Behaviour {
  return (response) => {
    open(response);
    response.write(event({ role: "assistant", content: "" }));
    for (const content of words) response.write(event({ content }));
    response.end(event({}, "stop") + END);
  };
}

const CALL = { index: 0, id: "call_1", type: "function", function: { name: "add", arguments: "" } };
const argument = (text: string) => event({ tool_calls: [{ index: 0, function: { arguments: text } }] });

/** Calls a tool; with its result, says it. */
const usesTools: Behaviour = (response, asked) => {
  const last = asked.messages.at(-1);
  if (last?.role === "tool") return says("It is ", `${String(last.content)}.`)(response, asked);
  const call = event({ role: "assistant", content: null, tool_calls: [CALL] });
  open(response).end(call + argument('{"a":2,') + argument('"b":2}') + event({}, "tool_calls") + END);
};

/** Works as an agent: one step for each request. */
const worksAsAgent: Behaviour = (response, asked) => {
  const results = asked.messages.filter(({ role }) => role === "tool").length;
  const { call, text } = agentStep(asked.model === "agent-endless", results, JSON.stringify(asked.messages));
  const { prompt, completion } = AGENT_USAGE;
  const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  const called = call && {
    ...CALL,
    id: `call_${results}`,
    function: { name: call.name, arguments: JSON.stringify(call.input) },
  };
  const said = called ? event({ tool_calls: [called] }) : event({ content: text });
  open(response).end(said + event({}, called ? "tool_calls" : "stop", { usage }) + "data: [DONE]\n\n");
};

let stopped = false;

/** Whether the gateway closed the connection of `runs-on` before it ended. */
export function isStopped(): boolean {
  return stopped;
}

/** Ignores `max_tokens`, a word at a time. */
const runsOn: Behaviour = (response) => {
  stopped = false;
  response.once("close", () => (stopped = !response.writableFinished));
  open(response);
  let words = 0;
  const write = (): void => {
    if (response.destroyed) return;
    if (words++ === 40_000) return void response.end(event({}, "stop") + END);
    response.write(event({ content: "word " }));
    setImmediate(write);
  };
  write();
};

let flooded = 0;
let limited = 0;

export function floodedBytes(): number {
  return flooded;
}

/** Words without end, as fast as they are read. */
const floods: Behaviour = (response) => {
  const word = event({ content: "x" });
  flooded = 0;
  const write = (): void => {
    if (response.destroyed) return;
    flooded += word.length;
    if (response.write(word)) setImmediate(write);
    else response.once("drain", write);
  };
  open(response);
  write();
};

const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  good: says("Fo", "ur."),
  tools: usesTools,
  structured: says('{"answer":', "4}"),
  "thinks-then-says": (response) =>
    void open(response).end(event({ reasoning_content: "Hm." }) + event({ content: "Four." }, "stop") + END),
  "dies-after-text": (response) =>
    void open(response).write(event({ content: "Fo" }), () => response.destroy()),
  "dies-at-once": (response) => void open(response).write(": hi\n\n", () => response.destroy()),
  "stalls-after-text": (response) => void open(response).write(event({ content: "Fo" })),
  "stalls-at-once": (response) => void open(response).write(": hi\n\n"),
  stays: (response) => void open(response).write(": hi\n\n"),
  counts: (response) => void open(response).write(event({ content: "Fo" }, null, { usage: USAGE })),
  "repeats-key": (response, { key }) =>
    says(
      "My key is ",
      String(key).slice(0, 12),
      String(key).slice(12),
    )(response, { model: "", messages: [] }),
  "repeats-key-slowly": async (response, { key }) => {
    open(response);
    for (const part of [String(key).slice(0, 12), String(key).slice(12)]) {
      // A pause sends each part in a packet of its own.
      response.write(event({ content: part }));
      await sleep(50);
    }
    response.end(event({}, "stop") + END);
  },
  sees: says("A cat."),
  open: says("Fo", "ur."),
  fetches: says("Fo", "ur."),
  "waits-for-a-second": (response) =>
    void setTimeout(() => void says("Done.")(response, { model: "", messages: [] }), 1_000),
  once: says("Fo", "ur."),
  "null-choices": (response) =>
    void open(response).end(
      `data: ${JSON.stringify({ ...HEAD, choices: null })}\n\n` + event({ content: "Four." }, "stop") + END,
    ),
  "done-without-usage": (response) => void open(response).end(event({ content: "Fo" }) + "data: [DONE]\n\n"),
  "negative-usage": (response) =>
    void open(response).end(
      event({ content: "Fo" }, "stop", {
        usage: { prompt_tokens: -11, completion_tokens: 1, total_tokens: -10 },
      }),
    ),
  "huge-usage": (response) =>
    void open(response).end(
      event({ content: "Fo" }, "stop", {
        usage: { prompt_tokens: 900_000, completion_tokens: 1, total_tokens: 900_001 },
      }),
    ),
  "two-choices": (response) =>
    void open(response).end(
      `data: ${JSON.stringify({ ...HEAD, choices: [{ index: 1, delta: { content: "no" } }] })}\n\n` +
        event({ content: "Fo" }, "stop", { usage: USAGE }),
    ),
  "malformed-event": (response) => void open(response).end("data: {oops\n\n"),
  gzip: (response) =>
    void response
      .writeHead(200, { "Content-Type": "text/event-stream", "Content-Encoding": "gzip" })
      .end(gzipSync(event({ content: "Fo" }, "stop", { usage: USAGE }) + END)),
  shared: (response) => json(response, 503, {}, { "Retry-After": "1" }),
  "shared-dies": (response) => void open(response).write(event({ content: "Fo" }), () => response.destroy()),
  floods,
  "runs-on": runsOn,
  agent: worksAsAgent,
  "agent-endless": worksAsAgent,
  limits: (response, asked) =>
    limited++ % 2 === 0
      ? json(response, 429, {}, { "Retry-After": new Date(Date.now() + 1_000).toUTCString() })
      : says("Fo", "ur.")(response, asked),
  refuses: (response) =>
    json(response, 400, {
      error: {
        message: "This model's maximum context length is 8192 tokens",
        type: "invalid_request_error",
        param: "messages",
        code: "context_length_exceeded",
      },
    }),
};

export const MODELS = Object.keys(BEHAVIOURS);

/** An upstream whose models are named after what they do. */
export async function chatUpstream(key: string): Promise<ModelServer> {
  const server: ModelServer = await modelServer((response, request) => {
    if (request.url === "/v1/embeddings")
      return embed(response, JSON.parse(server.received.at(-1)?.body ?? ""));
    const received = server.received.at(-1);
    if (request.url === "/v1/messages" && received) return answerMessages(response, received);
    if (request.url === "/v1/responses" && received)
      return respond(response, { ...JSON.parse(received.body), key });
    const asked: Asked = { ...JSON.parse(server.received.at(-1)?.body ?? "{}"), key };
    void BEHAVIOURS[asked.model]?.(response, asked);
  });
  return server;
}
