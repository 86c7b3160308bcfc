import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
  setMember,
  textOf,
} from "../../domain/core/json.ts";
import type { ServerReader } from "../dialect.ts";
import { inputFrom } from "./answer.ts";
import { finishReasonOf } from "./stop-reason.ts";

interface Block {
  readonly block: JsonObject;
  /** Index of a tool call among the calls; undefined: it is none. */
  readonly call: number | undefined;
  input: string;
}

/** Statuses of errors that a stream reports (Anthropic API, "Errors"). */
const STATUSES: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  request_too_large: 413,
  rate_limit_error: 429,
  overloaded_error: 503,
};

/** Reads an answer of a server (Anthropic API, "Streaming messages"). */
export class MessagesReader implements ServerReader {
  isOver = false;
  #message: JsonObject = {};
  readonly #blocks = new Map<number, Block>();
  #calls = 0;
  #usage: JsonObject = {};
  /** A prompt is counted before there is anything to deliver. */
  #isCounted = true;

  whole(answer: JsonObject): JsonObject {
    if (answer["type"] === "error") return failure(answer);
    this.#message = answer;
    const blocks = objectsOf(answer["content"]);
    const thoughts = blocks.filter(isThought);
    const text = blocks.map(({ type, text: words }) => (type === "text" ? textOf(words) : "")).join("");
    const reasoning = thoughts.map(({ thinking }) => textOf(thinking)).join("");
    const calls = blocks.filter(isCall).map(({ id = "", name = "", input = {} }) => ({
      id,
      type: "function",
      function: { name, arguments: JSON.stringify(input) },
    }));
    const others = blocks.filter((block) => block["type"] !== "text" && !isThought(block) && !isCall(block));
    const message = {
      role: "assistant",
      content: text === "" ? null : text,
      ...(reasoning !== "" && { reasoning_content: reasoning }),
      ...(thoughts.length > 0 && { thinking_blocks: thoughts }),
      ...(calls.length > 0 && { tool_calls: calls }),
      ...(others.length > 0 && { content_parts: others }),
    };
    const finish_reason = finishReasonOf(answer["stop_reason"]);
    return { choices: [{ index: 0, message, finish_reason }], usage: answer["usage"] ?? null };
  }

  take(event: JsonObject): readonly JsonObject[] {
    switch (event["type"]) {
      case "error":
        return [failure(event)];
      case "message_start":
        this.#message = objectOf(event["message"]);
        this.#count(this.#message["usage"]);
        return [];
      case "content_block_start":
        return this.#started(Number(event["index"]), objectOf(event["content_block"]));
      case "content_block_delta":
        return this.#added(this.#blocks.get(Number(event["index"])), objectOf(event["delta"]));
      case "content_block_stop":
        return this.#ended(this.#blocks.get(Number(event["index"])));
      case "message_delta":
        return this.#last(event);
      case "message_stop":
        this.isOver = true;
        return [];
      default:
        return [];
    }
  }

  answer(): JsonObject {
    const started = [...this.#blocks.values()].map(({ block, call, input }) =>
      call === undefined && input === ""
        ? block
        : { ...block, ...inputFrom(input === "" ? JSON.stringify(block["input"] ?? {}) : input) },
    );
    const content = started.length > 0 ? started : objectsOf(this.#message["content"]);
    return { ...this.#message, content, usage: { ...objectOf(this.#message["usage"]), ...this.#usage } };
  }

  #count(usage: JsonValue | undefined): void {
    const said = Object.entries(objectOf(usage)).filter(([, count]) => count !== null);
    this.#usage = { ...this.#usage, ...Object.fromEntries(said) };
    this.#isCounted = false;
  }

  #started(index: number, start: JsonObject): readonly JsonObject[] {
    const { type, id = "", name = "", text, thinking } = start;
    const call = isCall(start) ? this.#calls++ : undefined;
    this.#blocks.set(index, { block: { ...start }, call, input: "" });
    if (call !== undefined)
      return this.#said({
        tool_calls: [{ index: call, id, type: "function", function: { name, arguments: "" } }],
      });
    if (type === "text") return typeof text === "string" && text !== "" ? this.#said({ content: text }) : [];
    if (isThought(start))
      return typeof thinking === "string" && thinking !== ""
        ? this.#said({ reasoning_content: thinking })
        : [];
    return this.#said({ content_parts: [start] });
  }

  #added(at: Block | undefined, delta: JsonObject): readonly JsonObject[] {
    if (!at) return [];
    const { type, partial_json: json, citation, text, thinking } = delta;
    if (type === "input_json_delta" && typeof json === "string") {
      at.input += json;
      return at.call === undefined
        ? []
        : this.#said({ tool_calls: [{ index: at.call, function: { arguments: json } }] });
    }
    if (isJsonObject(citation)) {
      at.block["citations"] = [...objectsOf(at.block["citations"]), citation];
      return this.#said({ annotations: [citation] });
    }
    for (const [name, value] of Object.entries(delta)) if (name !== "type") grow(at.block, name, value);
    if (typeof text === "string") return this.#said({ content: text });
    return typeof thinking === "string" ? this.#said({ reasoning_content: thinking }) : [];
  }

  #ended(at: Block | undefined): readonly JsonObject[] {
    return at && isThought(at.block) ? this.#said({ thinking_blocks: [at.block] }) : [];
  }

  #last(event: JsonObject): readonly JsonObject[] {
    const { type: _, delta, usage, ...others } = event;
    this.#message = { ...this.#message, ...others, ...objectOf(delta) };
    this.#count(usage);
    const finish_reason = finishReasonOf(objectOf(delta)["stop_reason"]);
    return [{ choices: [{ index: 0, delta: {}, finish_reason }], usage: this.#usage }];
  }

  #said(delta: JsonObject): readonly JsonObject[] {
    const usage = this.#isCounted ? {} : { usage: this.#usage };
    this.#isCounted = true;
    return [{ ...usage, choices: [{ index: 0, delta, finish_reason: null }] }];
  }
}

function failure(event: JsonObject): JsonObject {
  const error = objectOf(event["error"]);
  const code = STATUSES[textOf(error["type"])] ?? 500;
  return { error: { ...error, code } };
}

/** Texts grow; other values are replaced. */
function grow(block: JsonObject, name: string, value: JsonValue): void {
  const before = Object.hasOwn(block, name) ? block[name] : undefined;
  setMember(block, name, typeof before === "string" && typeof value === "string" ? before + value : value);
}

function isThought({ type }: JsonObject): boolean {
  return type === "thinking" || type === "redacted_thinking";
}

function isCall({ type }: JsonObject): boolean {
  return type === "tool_use";
}
