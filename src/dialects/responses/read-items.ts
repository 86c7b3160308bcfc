import { invalidField } from "../../domain/core/errors.ts";
import { type JsonObject, type JsonValue, textOf } from "../../domain/core/json.ts";
import { addCarried, isCarried, wordsOf } from "../carried.ts";
import { fateOf, type Reading } from "../members.ts";
import { objectsAt, textAt } from "./fields.ts";
import { ITEMS, PARTS } from "./members.ts";
import { keepsTools, nameOf } from "./read-tools.ts";

const ENCRYPTED = "reasoning.encrypted_content";

interface Input {
  /** As messages of chat completions. */
  readonly messages: JsonObject[];
  /** As it came, without what is left out. */
  readonly sent: JsonValue;
}

/** Reads `instructions` and `input`. @throws ToolgateError INVALID_REQUEST */
export function readInput({ instructions, input = null }: JsonObject, reading: Reading): Input {
  const messages = new Messages();
  if (typeof instructions === "string") messages.add("system", instructions);
  else if (instructions !== undefined) throw invalidField("params.instructions", "must be a string");
  if (typeof input === "string") messages.add("user", input);
  const items = typeof input === "string" ? [] : objectsAt(input, "input");
  const kept = items.filter((item, at) => addItem(messages, item, `input[${at}]`, reading));
  return { messages: messages.all(), sent: typeof input === "string" ? input : kept };
}

/** @returns false if it is left out */
function addItem(messages: Messages, item: JsonObject, path: string, reading: Reading): boolean {
  const { type: given = "message" } = item;
  const kind = textAt({ type: given }, "type", path);
  // What a model thought may be missing; clients name it where they take answers for stored.
  const isThought = kind === "item_reference" && textOf(item["id"]).startsWith("rs_");
  const type = isThought ? "item_reference.reasoning" : kind;
  if (fateOf(ITEMS, type, `input.${type}`, reading) === "left out" || !keepsTools(item, path, reading))
    return false;
  if (reading.isSame && isCarried(item["encrypted_content"])) {
    fateOf(ITEMS, ENCRYPTED, `input.${ENCRYPTED}`, { ...reading, isSame: false });
    return false;
  }
  addKept(messages, item, { type, path }, reading);
  return true;
}

function addKept(
  messages: Messages,
  item: JsonObject,
  { type, path }: { readonly type: string; readonly path: string },
  reading: Reading,
): void {
  switch (type) {
    case "message":
      return messages.add(textAt(item, "role", path), contentOf(item["content"], `${path}.content`, reading));
    case "function_call":
      return messages.call(callOf(item, path, "function", "arguments"));
    case "custom_tool_call":
      return messages.call(callOf(item, path, "custom", "input"));
    case "function_call_output":
    case "custom_tool_call_output":
      return messages.result(
        textAt(item, "call_id", path),
        partsOf(item["output"], `${path}.output`, reading),
      );
    case "reasoning":
      if (reading.isSame) break;
      return messages.think(item, reading);
  }
  // The price covers its bytes; only servers of the same API get it, as it came.
  messages.add("user", JSON.stringify(item));
}

function callOf(item: JsonObject, path: string, type: string, input: string): JsonObject {
  const called = { name: nameOf(item, path), [input]: textAt(item, input, path) };
  return { id: textAt(item, "call_id", path), type, [type]: called };
}

/** Assembles messages: what an assistant thinks, says and calls in succession is one. */
class Messages {
  readonly #all: JsonObject[] = [];
  #assistant: JsonObject | undefined;
  #thoughts = "";
  /** What its server takes back of them. */
  #records: JsonObject = {};
  /** Of results: messages of tools have text only. */
  #images: JsonObject[] = [];

  add(role: string, content: JsonValue): void {
    if (role === "assistant") {
      const { content: said = null, tool_calls: calls } = this.#assistant ?? {};
      const message = said !== null || calls !== undefined ? this.#start() : this.#current();
      message["content"] = content;
      return;
    }
    this.#end();
    const last = this.#all.at(-1);
    // Many chat templates know neither developers nor a second system message.
    const known = role === "developer" ? "system" : role;
    if (known === "system" && last?.["role"] === "system" && isText(last["content"]) && isText(content))
      last["content"] = `${last["content"]}\n\n${content}`;
    else this.#all.push({ role: known, content });
  }

  think(item: JsonObject, reading: Reading): void {
    const { encrypted_content: encrypted } = item;
    if (addCarried(this.#records, encrypted, reading.api)) return;
    if (typeof encrypted === "string") fateOf(ITEMS, ENCRYPTED, `input.${ENCRYPTED}`, reading);
    this.#thoughts += wordsOf(item);
  }

  call(call: JsonObject): void {
    const message = this.#current();
    const { tool_calls: calls } = message;
    if (Array.isArray(calls)) calls.push(call);
    else message["tool_calls"] = [call];
  }

  result(tool_call_id: string, parts: readonly JsonObject[]): void {
    this.#assistant = undefined;
    this.#all.push({ role: "tool", tool_call_id, content: joined(parts.filter((part) => !isImage(part))) });
    this.#images.push(...parts.filter(isImage));
  }

  all(): JsonObject[] {
    this.#end();
    return this.#all;
  }

  #current(): JsonObject {
    const hasThought = this.#thoughts !== "" || Object.keys(this.#records).length > 0;
    return !hasThought && this.#assistant ? this.#assistant : this.#start();
  }

  #start(): JsonObject {
    const thoughts = this.#thoughts === "" ? {} : { reasoning_content: this.#thoughts };
    const message: JsonObject = { role: "assistant", content: null, ...thoughts, ...this.#records };
    this.#end();
    this.#assistant = message;
    this.#all.push(message);
    return message;
  }

  #end(): void {
    if (this.#images.length > 0) this.#all.push({ role: "user", content: this.#images });
    this.#images = [];
    this.#assistant = undefined;
    this.#thoughts = "";
    this.#records = {};
  }
}

function contentOf(content: JsonValue | undefined, path: string, reading: Reading): JsonValue {
  return joined(partsOf(content, path, reading));
}

/** Text as a string: many servers take no parts in messages other than a user's. */
function joined(parts: readonly JsonObject[]): JsonValue {
  return parts.every(({ type }) => type === "text")
    ? parts.map(({ text }) => textOf(text)).join("\n")
    : [...parts];
}

function partsOf(content: JsonValue | undefined, path: string, reading: Reading): JsonObject[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return objectsAt(content, path).map((part, at) => partOf(part, `${path}[${at}]`, reading));
}

function partOf(part: JsonObject, path: string, reading: Reading): JsonObject {
  const type = textAt(part, "type", path);
  if (fateOf(PARTS, type, `${path}.${type}`, reading) === "left out")
    throw invalidField(`params.${path}.type`, `${type} is unknown`);
  if (type === "refusal") return { type, refusal: textAt(part, "refusal", path) };
  if (type !== "input_image") return { type: "text", text: textAt(part, "text", path) };
  const { image_url: url, detail } = part;
  if (typeof url !== "string")
    throw invalidField(`params.${path}.image_url`, "is required, a data URL; no files are stored");
  return { type: "image_url", image_url: { url, ...(typeof detail === "string" && { detail }) } };
}

function isImage({ type }: JsonObject): boolean {
  return type === "image_url";
}

function isText(content: JsonValue | undefined): content is string {
  return typeof content === "string";
}
