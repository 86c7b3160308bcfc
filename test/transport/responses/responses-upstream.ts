import type { ServerResponse } from "node:http";
import { json } from "../../inference/model-server.ts";

/** A body of the Responses API, as far as the server reads it. */
interface Asked {
  model: string;
  input?: unknown;
  max_output_tokens?: number;
  [member: string]: unknown;
}

type Behaviour = (response: ServerResponse, asked: Asked) => void;

export const USAGE = {
  input_tokens: 11,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 2,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 13,
};
const HEAD = {
  id: "resp_up",
  object: "response",
  created_at: 1,
  model: "served-name",
  output: [],
  store: false,
};

/** Writes the events of one answer, numbered. */
class Events {
  readonly #response: ServerResponse;
  readonly #output: object[] = [];
  #number = 0;

  constructor(response: ServerResponse) {
    this.#response = response.writeHead(200, { "Content-Type": "text/event-stream" });
    this.send("response.created", { response: { ...HEAD, status: "in_progress" } });
    this.send("response.in_progress", { response: { ...HEAD, status: "in_progress" } });
  }

  send(type: string, members: object, then?: () => void): void {
    const event = { type, sequence_number: this.#number++, ...members };
    this.#response.write(`event: ${type}\ndata: ${JSON.stringify(event)}\n\n`, then);
  }

  thinks(text: string, encrypted_content: string): this {
    const [output_index, item] = [this.#output.length, { id: "rs_up", type: "reasoning" }];
    this.send("response.output_item.added", { output_index, item: { ...item, summary: [] } });
    const place = { item_id: "rs_up", output_index, summary_index: 0 };
    const part = { type: "summary_text", text };
    this.send("response.reasoning_summary_part.added", { ...place, part: { ...part, text: "" } });
    this.send("response.reasoning_summary_text.delta", { ...place, delta: text });
    this.send("response.reasoning_summary_text.done", { ...place, text });
    this.send("response.reasoning_summary_part.done", { ...place, part });
    return this.#done({ ...item, summary: [part], encrypted_content });
  }

  starts(): (delta: string, then?: () => void) => void {
    const output_index = this.#output.length;
    const item = { id: "msg_up", type: "message", status: "in_progress", role: "assistant", content: [] };
    this.send("response.output_item.added", { output_index, item });
    const place = { item_id: "msg_up", output_index, content_index: 0 };
    const part = { type: "output_text", text: "", annotations: [], logprobs: [] };
    this.send("response.content_part.added", { ...place, part });
    return (delta, then) => this.send("response.output_text.delta", { ...place, delta, logprobs: [] }, then);
  }

  says(...words: readonly string[]): this {
    const write = this.starts();
    for (const word of words) write(word);
    const part = { type: "output_text", text: words.join(""), annotations: [], logprobs: [] };
    const place = { item_id: "msg_up", output_index: this.#output.length, content_index: 0 };
    this.send("response.output_text.done", { ...place, text: part.text, logprobs: [] });
    this.send("response.content_part.done", { ...place, part });
    return this.#done({
      id: "msg_up",
      type: "message",
      status: "completed",
      role: "assistant",
      content: [part],
    });
  }

  /** A call that goes on. */
  startsCall(): (delta: string) => void {
    const [output_index, id] = [this.#output.length, "fc_up"];
    const item = {
      id,
      type: "function_call",
      status: "in_progress",
      call_id: "c1",
      name: "add",
      arguments: "",
    };
    this.send("response.output_item.added", { output_index, item });
    return (delta) =>
      this.send("response.function_call_arguments.delta", { item_id: id, output_index, delta });
  }

  calls(call_id: string, name: string, ...pieces: readonly string[]): this {
    const [output_index, id] = [this.#output.length, `fc_${call_id}`];
    const item = { id, type: "function_call", call_id, name };
    this.send("response.output_item.added", {
      output_index,
      item: { ...item, status: "in_progress", arguments: "" },
    });
    for (const delta of pieces)
      this.send("response.function_call_arguments.delta", { item_id: id, output_index, delta });
    const whole = { arguments: pieces.join("") };
    this.send("response.function_call_arguments.done", { item_id: id, output_index, ...whole });
    return this.#done({ ...item, status: "completed", ...whole });
  }

  ends(members: object = {}): void {
    const response = { ...HEAD, status: "completed", output: this.#output, usage: USAGE, ...members };
    this.send(`response.${response.status}`, { response });
    this.#response.end();
  }

  #done(item: object): this {
    this.send("response.output_item.done", { output_index: this.#output.length, item });
    this.#output.push(item);
    return this;
  }
}

/** Words without end, as fast as they are read. */
function writeOn(response: ServerResponse, say: (word: string) => void): void {
  const write = (): void => {
    if (response.destroyed) return;
    say("word ");
    if (response.writableNeedDrain) response.once("drain", write);
    else setImmediate(write);
  };
  write();
}

let goOn = (): void => {};

/** Lets a server send its key that waits for it. */
export function leakNow(): void {
  goOn();
}

function hasResult({ input }: Asked): boolean {
  return JSON.stringify(input).includes("function_call_output");
}

const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  "r-says": (response) => new Events(response).says("Fo", "ur.").ends(),
  "r-thinks": (response) => new Events(response).thinks("Hm.", "gAAA").says("Four.").ends(),
  "r-tools": (response, asked) =>
    hasResult(asked)
      ? new Events(response).says("It is ", "4.").ends()
      : new Events(response)
          .calls("c1", "add", '{"a":2,', '"b":2}')
          .calls("c2", "add", '{"a":1,"b":1}')
          .ends(),
  "r-thinks-tools": (response, asked) =>
    hasResult(asked)
      ? new Events(response).says("It is ", "4.").ends()
      : new Events(response).thinks("Hm.", "gAAA").thinks("", "gBBB").calls("c1", "add", '{"a":2}').ends(),
  "r-dies": (response) => new Events(response).starts()("Fo", () => response.destroy()),
  "r-counts-nothing": (response) => new Events(response).says("Fo").ends({ usage: null }),
  "r-huge": (response) =>
    new Events(response)
      .says("Fo")
      .ends({ usage: { ...USAGE, input_tokens: 900_000, total_tokens: 900_002 } }),
  "r-negative": (response) =>
    new Events(response).says("Fo").ends({ usage: { ...USAGE, output_tokens: -9, total_tokens: 2 } }),
  "r-incomplete": (response) =>
    new Events(response)
      .says("Fo")
      .ends({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }),
  "r-fails": (response) =>
    new Events(response).ends({ status: "failed", error: { code: "server_error", message: "no memory" } }),
  "r-refuses": (response) =>
    json(response, 400, {
      error: {
        message: "Unsupported parameter",
        type: "invalid_request_error",
        param: "temperature",
        code: "unsupported",
      },
    }),
  "r-leaks": (response, { key }) => {
    const events = new Events(response);
    const say = events.starts();
    say("My key is ");
    goOn = () => {
      say(String(key));
      events.ends();
    };
  },
  "r-starts-and-dies": (response) => {
    new Events(response).starts();
    response.write(": no text\n\n", () => response.destroy());
  },
  "r-shared": (response) => json(response, 503, {}, { "Retry-After": "1" }),
  "r-floods": (response) => writeOn(response, new Events(response).starts()),
  "r-calls-on": (response) => writeOn(response, new Events(response).startsCall()),
};

const FAILING = ["r-dies", "r-fails", "r-leaks", "r-starts-and-dies", "r-shared"];
const WORKING = Object.keys(BEHAVIOURS).filter((model) => !FAILING.includes(model));

/** The models of each upstream: one that fails has its own, as it is closed for a while. */
export const RESPONSES_MODELS = [
  ...FAILING.map((id) => [{ id }]),
  // Serves one of the others too, where its first server is busy.
  [...WORKING.map((id) => ({ id })), { id: "r-shared", upstream_model: "r-says" }],
];

/** Answers a request of the Responses API as its model's name says. */
export function respond(response: ServerResponse, asked: Asked): void {
  BEHAVIOURS[asked.model]?.(response, asked);
}
