import { type JsonObject, type JsonValue, objectOf, objectsOf, textOf } from "../../domain/core/json.ts";
import type { ServerReader } from "../dialect.ts";
import {
  ARGUMENTS,
  INPUT,
  type Kind,
  type PartKind,
  REASONING,
  REFUSAL,
  SUMMARY,
  TEXT,
} from "./growing-item.ts";

/** Members of a chat completion's delta that have the texts of an item. */
const SAID: ReadonlyMap<Kind, string> = new Map([
  [SUMMARY, "reasoning_content"],
  [REASONING, "reasoning_content"],
  [TEXT, "content"],
  [REFUSAL, "refusal"],
]);
const CALLS: ReadonlyMap<unknown, Kind> = new Map([
  ["function_call", ARGUMENTS],
  ["custom_tool_call", INPUT],
]);
const BY_DELTA: ReadonlyMap<unknown, Kind> = new Map(
  [...SAID.keys(), ...CALLS.values()].map((kind) => [`${kind.events}.delta`, kind] as const),
);

/** HTTP statuses of errors that a stream reports (OpenAI API, "The response object", `error`). */
const STATUSES: Readonly<Record<string, number>> = {
  invalid_prompt: 400,
  context_length_exceeded: 400,
  rate_limit_exceeded: 429,
};

interface Item {
  item: JsonObject;
  /** Whether its text came in pieces. */
  hasDeltas: boolean;
}

/** Reads an answer of a server (OpenAI API, "Streaming events" of responses). */
export class ResponsesReader implements ServerReader {
  isOver = false;
  #response: JsonObject = {};
  readonly #items = new Map<number, Item>();

  whole(answer: JsonObject): JsonObject {
    this.#response = answer;
    const { status, error } = answer;
    if (status === "failed") return failure(objectOf(error));
    const items = objectsOf(answer["output"]);
    const message: JsonObject = { role: "assistant", content: null };
    for (const [at, item] of items.entries())
      for (const [name, value] of Object.entries(deltaOf(item, at)))
        message[name] = grown(message[name], value);
    const logprobs = items.flatMap((item) =>
      objectsOf(item["content"]).flatMap((part) => objectsOf(part["logprobs"])),
    );
    const choice = { index: 0, message, ...logprobsOf(logprobs), finish_reason: finishOf(answer, items) };
    return { choices: [choice], usage: answer["usage"] ?? null };
  }

  take(event: JsonObject): readonly JsonObject[] {
    const { type, output_index: index = 0, item, response } = event;
    const at = Number(index);
    switch (type) {
      case "response.created":
        this.#response = objectOf(response);
        return [];
      case "response.output_item.added":
        return this.#added(at, objectOf(item));
      case "response.output_item.done":
        return this.#done(at, objectOf(item));
      case "response.completed":
      case "response.incomplete":
        return this.#ended(objectOf(response));
      case "response.failed":
        return [failure(objectOf(objectOf(response)["error"]))];
      case "error":
        return [failure({ ...event, ...objectOf(event["error"]) })];
      default:
        return this.#grown(BY_DELTA.get(type), at, event);
    }
  }

  answer(): JsonObject {
    const items = [...this.#items]
      .toSorted(([one], [other]) => one - other)
      .map(([, { item }]) => (item["status"] === "in_progress" ? { ...item, status: "incomplete" } : item));
    return { ...this.#response, output: items.length > 0 ? items : objectsOf(this.#response["output"]) };
  }

  #added(at: number, item: JsonObject): readonly JsonObject[] {
    const call = CALLS.get(item["type"]);
    const started = call ? { ...item, [call.text]: "" } : item;
    this.#items.set(at, { item: started, hasDeltas: false });
    return call ? said(deltaOf(started, at)) : [];
  }

  #grown(kind: Kind | undefined, at: number, event: JsonObject): readonly JsonObject[] {
    const known = this.#items.get(at);
    const { delta, logprobs } = event;
    if (!kind || !known || typeof delta !== "string") return [];
    known.hasDeltas = true;
    const owner = kind.part ? partAt(known.item, kind.part, event) : known.item;
    owner[kind.text] = textOf(owner[kind.text]) + delta;
    const member = SAID.get(kind);
    return member === undefined
      ? said({ tool_calls: [callDelta(kind, at, { [kind.text]: delta })] })
      : said({ [member]: delta }, logprobsOf(logprobs));
  }

  #done(at: number, item: JsonObject): readonly JsonObject[] {
    const hasDeltas = this.#items.get(at)?.hasDeltas ?? false;
    this.#items.set(at, { item, hasDeltas });
    return said(hasDeltas ? recordsOf(item) : deltaOf(item, at));
  }

  #ended(response: JsonObject): readonly JsonObject[] {
    this.isOver = true;
    this.#response = response;
    const items = objectsOf(response["output"]);
    const unseen = items.flatMap((item, at) => (this.#items.has(at) ? [] : this.#done(at, item)));
    const all = objectsOf(this.answer()["output"]);
    const choice = { index: 0, delta: {}, finish_reason: finishOf(response, all) };
    return [...unseen, { choices: [choice], usage: response["usage"] ?? null }];
  }
}

/** The part of an item that an event is about. */
function partAt(item: JsonObject, { list, index, empty }: PartKind, event: JsonObject): JsonObject {
  const parts = objectsOf(item[list]);
  const at = Math.min(parts.length, Number(event[index] ?? 0));
  parts[at] ??= structuredClone(empty);
  item[list] = parts;
  return parts[at];
}

/** An item as a delta of a chat completion. @param at its place in the output */
function deltaOf(item: JsonObject, at: number): JsonObject {
  const { type, call_id: id = "", name = "" } = item;
  const call = CALLS.get(type);
  if (call)
    return { tool_calls: [{ ...callDelta(call, at, { name, [call.text]: item[call.text] ?? "" }), id }] };
  const delta = recordsOf(item);
  for (const kind of SAID.keys()) {
    const parts = kind.part ? objectsOf(item[kind.part.list]) : [];
    const own = parts.filter((part) => part["type"] === kind.part?.empty["type"]);
    const text = own.map((part) => textOf(part[kind.text])).join("");
    const member = SAID.get(kind);
    if (text !== "" && member !== undefined) delta[member] = text;
  }
  return delta;
}

function callDelta(kind: Kind, index: number, called: JsonObject): JsonObject {
  const type = kind === INPUT ? "custom" : "function";
  return { index, type, [type]: called };
}

/** What an item has beside texts: reasoning that its server takes back, and sources. */
function recordsOf(item: JsonObject): JsonObject {
  const annotations = objectsOf(item["content"]).flatMap((part) => objectsOf(part["annotations"]));
  return {
    ...(typeof item["encrypted_content"] === "string" && { reasoning_items: [item] }),
    ...(annotations.length > 0 && { annotations: annotations.map(annotationFrom) }),
  };
}

/** One API has the members of an annotation flat, the other one by its type. */
function annotationFrom({ type = "", ...own }: JsonObject): JsonObject {
  return { type, [textOf(type)]: own };
}

function grown(before: JsonValue | undefined, value: JsonValue): JsonValue {
  if (Array.isArray(before) && Array.isArray(value)) return [...before, ...value];
  return typeof before === "string" && typeof value === "string" ? before + value : value;
}

function said(delta: JsonObject, more: JsonObject = {}): readonly JsonObject[] {
  if (Object.keys(delta).length === 0) return [];
  return [{ choices: [{ index: 0, delta, ...more, finish_reason: null }] }];
}

function logprobsOf(logprobs: JsonValue | undefined): JsonObject {
  const content = objectsOf(logprobs);
  return content.length > 0 ? { logprobs: { content } } : {};
}

function finishOf({ status, incomplete_details: details }: JsonObject, items: readonly JsonObject[]): string {
  const { reason = "length" } = objectOf(details);
  if (status === "incomplete") return reason === "max_output_tokens" ? "length" : textOf(reason);
  return items.some(({ type }) => CALLS.has(type)) ? "tool_calls" : "stop";
}

function failure(error: JsonObject): JsonObject {
  const { code = null, status } = error;
  return { error: { ...error, code: STATUSES[textOf(code)] ?? status ?? 500 } };
}
