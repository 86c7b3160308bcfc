import { isJsonObject, type JsonObject, type JsonValue } from "../domain/core/json.ts";
import { otherMembers } from "./other-members.ts";

/** More calls than any answer has. */
const MAX_CALLS = 1_000;

/** Where servers put reasoning: DeepSeek and vLLM, and OpenRouter and Ollama. */
export const REASONING = ["reasoning_content", "reasoning"] as const;

/** A message, or what a delta adds to it, whatever shape its server gives it. */
export interface MessagePart {
  readonly content: string;
  readonly refusal: string;
  readonly reasoning: Readonly<Partial<Record<(typeof REASONING)[number], string>>>;
  readonly calls: readonly CallPart[];
  readonly more: JsonObject;
}

export interface CallPart {
  /** Undefined: its place in the list. */
  readonly index: number | undefined;
  readonly id: string;
  readonly type: string;
  /** Undefined: it is no call of a function or custom tool. */
  readonly called: Called | undefined;
  readonly more: JsonObject;
}

export interface Called {
  /** The member that has name and input. */
  readonly as: "function" | "custom";
  readonly name: string;
  readonly input: string;
  readonly more: JsonObject;
}

const KNOWN = new Set(["role", "content", "refusal", "tool_calls"]);

export function readMessage(message: JsonObject): MessagePart {
  const { content = null, refusal = null, tool_calls: calls = null } = message;
  const { text, thoughts, others } = readContent(content);
  const inMembers = REASONING.filter((name) => typeof message[name] === "string");
  const known = new Set([...KNOWN, ...inMembers]);
  // TGI streams one call in place of a list.
  const list = (Array.isArray(calls) ? calls : [calls]).filter(isJsonObject).slice(0, MAX_CALLS);
  return {
    content: text,
    refusal: textOf(refusal),
    reasoning: {
      ...(thoughts !== "" && { reasoning_content: thoughts }),
      ...Object.fromEntries(inMembers.map((name) => [name, textOf(message[name])])),
    },
    calls: list.map(readCall),
    more: {
      ...otherMembers(message, known),
      ...(others.length > 0 && otherMembers({ content_parts: others }, KNOWN)),
    },
  };
}

/** Mistral sends lists of text, thoughts and references; other servers sent JSON for a JSON format. */
function readContent(content: JsonValue): { text: string; thoughts: string; others: JsonValue[] } {
  if (!Array.isArray(content)) return { text: jsonText(content), thoughts: "", others: [] };
  let [text, thoughts] = ["", ""];
  const others: JsonValue[] = [];
  for (const part of content) {
    const { type, thinking = null, text: written } = isJsonObject(part) ? part : { type: "text", text: part };
    if (type === "thinking") thoughts += readContent(thinking).text;
    else if (typeof written === "string") text += written;
    else others.push(part);
  }
  return { text, thoughts, others };
}

const CALL = new Set(["index", "id", "type", "function", "custom"]);
const CALLED = { function: new Set(["name", "arguments"]), custom: new Set(["name", "input"]) };

function readCall(call: JsonObject): CallPart {
  const { index, id = null, type, function: called, custom } = call;
  const isFlat = called === undefined && typeof call["name"] === "string";
  const own = isFlat ? call : (called ?? custom);
  const as = isJsonObject(custom) && own === custom ? "custom" : "function";
  return {
    index: typeof index === "number" && Number.isInteger(index) && index >= 0 ? index : undefined,
    id: jsonText(id),
    type: textOf(type ?? (as === "custom" ? as : null)),
    called: isJsonObject(own)
      ? {
          as,
          name: textOf(own["name"]),
          input: jsonText(own[as === "custom" ? "input" : "arguments"] ?? null),
          more: isFlat ? {} : otherMembers(own, CALLED[as]),
        }
      : undefined,
    more: otherMembers(call, isFlat ? new Set([...CALL, ...CALLED[as]]) : CALL),
  };
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

/** Text as it is; other values as JSON. */
function jsonText(value: JsonValue): string {
  if (typeof value === "string") return value;
  return value === null ? "" : JSON.stringify(value);
}
