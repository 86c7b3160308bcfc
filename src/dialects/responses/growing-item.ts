import type { JsonObject, JsonValue } from "../../domain/core/json.ts";

/** A text that grows in an item, or in a part of one, and the names that its events have. */
export interface Kind {
  readonly events: string;
  /** The member that has the text. */
  readonly text: string;
  readonly hasLogprobs?: boolean;
  readonly part?: PartKind;
}

export interface PartKind {
  readonly events: string;
  /** Member of events with the place of the part in its list. */
  readonly index: string;
  /** The list of the item. */
  readonly list: string;
  /** The part without its text. */
  readonly empty: JsonObject;
}

function contentPart(events: string, text: string, empty: JsonObject): Kind {
  const part = { events: "response.content_part", index: "content_index", list: "content", empty };
  return { events, text, part };
}

/** OpenAI API, "Streaming events" of responses. */
export const SUMMARY: Kind = {
  events: "response.reasoning_summary_text",
  text: "text",
  part: {
    events: "response.reasoning_summary_part",
    index: "summary_index",
    list: "summary",
    empty: { type: "summary_text" },
  },
};
export const TEXT: Kind = {
  ...contentPart("response.output_text", "text", { type: "output_text", annotations: [], logprobs: [] }),
  hasLogprobs: true,
};
export const REFUSAL = contentPart("response.refusal", "refusal", { type: "refusal" });
export const REASONING = contentPart("response.reasoning_text", "text", { type: "reasoning_text" });
export const ARGUMENTS: Kind = { events: "response.function_call_arguments", text: "arguments" };
export const INPUT: Kind = { events: "response.custom_tool_call_input", text: "input" };

export type SendEvent = (type: string, members: JsonObject) => void;

/** An output item whose texts arrive in pieces. Sends the events of each. */
export class GrowingItem {
  readonly #item: JsonObject;
  readonly #index: number;
  readonly #send: SendEvent;
  #kind: Kind | undefined;
  #part: JsonObject | undefined;
  #place: JsonObject = {};
  #text = "";

  /** @param index of the item in the output */
  constructor(item: JsonObject, index: number, send: SendEvent) {
    this.#item = item;
    this.#index = index;
    this.#send = send;
    send("response.output_item.added", { output_index: index, item: structuredClone(item) });
  }

  /** What the text has so far that grows at present. */
  get text(): string {
    return this.#text;
  }

  /** Adds a piece of a text; another kind than the last one starts a part. */
  add(kind: Kind, piece: string, logprobs: readonly JsonValue[] = []): void {
    if (kind !== this.#kind) this.#start(kind);
    if (piece === "") return;
    this.#text += piece;
    listOf(this.#part, "logprobs").push(...logprobs);
    const more = kind.hasLogprobs && { logprobs: [...logprobs] };
    this.#send(`${kind.events}.delta`, { ...this.#place, delta: piece, ...more });
  }

  set(member: string, value: string): void {
    this.#item[member] = value;
  }

  annotate(annotation: JsonObject): void {
    this.add(TEXT, "");
    const all = listOf(this.#part, "annotations");
    const place = { ...this.#place, annotation_index: all.length };
    all.push(annotation);
    this.#send("response.output_text.annotation.added", { ...place, annotation });
  }

  end(status: string): void {
    this.#endText();
    this.#item["status"] = status;
    this.#send("response.output_item.done", { output_index: this.#index, item: this.#item });
  }

  #start(kind: Kind): void {
    this.#endText();
    this.#kind = kind;
    this.#place = { item_id: this.#item["id"] ?? "", output_index: this.#index };
    if (!kind.part) return;
    const { events, index, list, empty } = kind.part;
    const parts = listOf(this.#item, list);
    this.#place[index] = parts.length;
    this.#part = { ...structuredClone(empty), [kind.text]: "" };
    parts.push(this.#part);
    this.#send(`${events}.added`, { ...this.#place, part: structuredClone(this.#part) });
  }

  #endText(): void {
    const [kind, part] = [this.#kind, this.#part];
    if (!kind) return;
    (part ?? this.#item)[kind.text] = this.#text;
    const more = kind.hasLogprobs && { logprobs: listOf(part, "logprobs") };
    this.#send(`${kind.events}.done`, { ...this.#place, [kind.text]: this.#text, ...more });
    if (kind.part && part) this.#send(`${kind.part.events}.done`, { ...this.#place, part });
    this.#kind = undefined;
    this.#part = undefined;
    this.#text = "";
  }
}

function listOf(object: JsonObject = {}, member: string): JsonValue[] {
  const list = object[member];
  return Array.isArray(list) ? list : [];
}
