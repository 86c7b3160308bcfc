import {
  type JsonObject,
  type JsonValue,
  textOf,
  objectOf,
  objectsOf,
  parsedJson,
  isJsonObject,
} from "../../domain/core/json.ts";
import { withoutCharge } from "../broken-off.ts";
import { carry, reasoningItems, wordsOf } from "../carried.ts";
import { stopOf } from "./stop-reason.ts";
import { usageFrom, usageOfServer } from "./usage.ts";

interface Asked {
  readonly stops: readonly JsonValue[];
  /** What was left out. */
  readonly notes: readonly string[];
}

/** Returns the answer to a request (Anthropic API, "Message"). @param passed a server's own answer */
export function answerFrom(
  completion: JsonObject,
  passed: JsonObject | undefined,
  { stops, notes }: Asked,
): JsonObject {
  const [choice = {}] = objectsOf(completion["choices"]);
  const usage = objectOf(completion["usage"]);
  const stop = stopOf(choice, stops);
  const own = passed && withoutCharge(passed);
  return {
    ...headOf(completion),
    content: contentFrom(objectOf(choice["message"])),
    ...stop,
    ...own,
    ...(own && (typeof own["stop_reason"] === "string" ? {} : stop)),
    ...headOf(completion),
    usage: passed ? usageOfServer(passed["usage"], usage) : usageFrom(usage),
    ...(notes.length > 0 && { notes: [...notes] }),
  };
}

/** @param completion or a chunk of one */
export function headOf({ id = "", model = "" }: JsonObject): JsonObject {
  return { id: textOf(id).replace(/^chatcmpl-/, "msg_"), type: "message", role: "assistant", model };
}

function contentFrom(message: JsonObject): JsonObject[] {
  const { content, refusal, reasoning_content: reasoning = message["reasoning"] } = message;
  const thoughts = [...objectsOf(message["thinking_blocks"]), ...reasoningItems(message).map(carryingBlock)];
  if (thoughts.length === 0 && typeof reasoning === "string") thoughts.push(thinkingBlock(reasoning));
  const text = typeof content === "string" && content !== "" ? content : refusal;
  return [
    ...thoughts,
    ...(typeof text === "string" && text !== "" ? [{ type: "text", text }] : []),
    ...objectsOf(message["tool_calls"]).map((call) => {
      const { name = "", arguments: input = "" } = objectOf(call["function"]);
      return { type: "tool_use", id: call["id"] ?? "", name, ...inputFrom(textOf(input)) };
    }),
  ];
}

/** A thought; without a signature no server signed it. */
export function thinkingBlock(thinking: string, signature = ""): JsonObject {
  return { type: "thinking", thinking, signature };
}

/** Only its server reads encrypted reasoning: clients send signatures back as they are. */
function carryingBlock(item: JsonObject): JsonObject {
  return thinkingBlock(wordsOf(item), carry({ reasoning_items: [item] }));
}

/** The member `input`, with the text of one that was cut off. */
export function inputFrom(text: string): JsonObject {
  const input = text.trim() === "" ? {} : parsedJson(text);
  return isJsonObject(input) ? { input } : { input: {}, partial_json: text };
}
