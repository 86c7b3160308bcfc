import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectsOf,
  parsedJson,
  textOf,
} from "../domain/core/json.ts";
import type { ServerApi } from "../domain/tools/chat.ts";

/** Starts what another API's member carries: no server's own signature or encrypted text starts so. */
const MARK = "toolgate.1.";

/** Members of an assistant's message that its server takes back, by the API that has them. */
const RECORDS: Readonly<Partial<Record<ServerApi, string>>> = {
  messages: "thinking_blocks",
  responses: "reasoning_items",
};

/** Returns a server's records as a text for clients of another API, which send it back. */
export function carry(records: JsonObject): string {
  return MARK + Buffer.from(JSON.stringify(records)).toString("base64url");
}

/** Whether the gateway made a text by {@link carry}. */
export function isCarried(text: JsonValue | undefined): text is string {
  return typeof text === "string" && text.startsWith(MARK);
}

/** Adds the records of a text that servers of the API take back to a message. @returns whether it has any */
export function addCarried(message: JsonObject, text: JsonValue | undefined, api?: ServerApi): boolean {
  const name = api && RECORDS[api];
  if (!isCarried(text) || name === undefined) return false;
  const records = parsedJson(Buffer.from(text.slice(MARK.length), "base64url").toString());
  const own = isJsonObject(records) ? objectsOf(records[name]) : [];
  if (own.length > 0) message[name] = [...objectsOf(message[name]), ...own];
  return own.length > 0;
}

/** Returns the signed thoughts of a message: callers send them back, and could add what has no price. */
export function thinkingBlocks(message: JsonObject): JsonObject[] {
  return objectsOf(message["thinking_blocks"]).flatMap(
    ({ type, thinking, signature, data }): JsonObject[] => {
      if (type === "redacted_thinking") return typeof data === "string" ? [{ type, data }] : [];
      const isSigned = typeof thinking === "string" && typeof signature === "string" && signature !== "";
      return type === "thinking" && isSigned ? [{ type, thinking, signature }] : [];
    },
  );
}

/** Returns the encrypted reasoning of a message, likewise. */
export function reasoningItems(message: JsonObject): JsonObject[] {
  return objectsOf(message["reasoning_items"]).flatMap(({ id, type, status, encrypted_content, ...item }) => {
    if (type !== "reasoning" || typeof encrypted_content !== "string") return [];
    const content = textsIn(item, "content");
    return {
      ...(typeof id === "string" && { id }),
      type,
      ...(typeof status === "string" && { status }),
      summary: textsIn(item, "summary"),
      ...(content.length > 0 && { content }),
      encrypted_content,
    };
  });
}

function textsIn(item: JsonObject, name: string): JsonObject[] {
  const type = name === "summary" ? "summary_text" : "reasoning_text";
  return objectsOf(item[name]).map(({ text }) => ({ type, text: textOf(text) }));
}

/** Returns a server's words for its reasoning, whole or in short. */
export function wordsOf(item: JsonObject): string {
  const whole = objectsOf(item["content"]);
  return (whole.length > 0 ? whole : objectsOf(item["summary"])).map(({ text }) => textOf(text)).join("\n\n");
}
