import type { CallToolResult } from "@modelcontextprotocol/client";
import { isJsonObject, type JsonObject } from "../../../domain/json.ts";

/**
 * What a tool gave, as a result of ours: its structured content where that is an object, else its blocks of content as they came, with all
 * text among them in one piece.
 */
export function resultOf({ structuredContent, content }: CallToolResult): JsonObject {
  if (isJsonObject(structuredContent)) return structuredContent;
  const result: unknown = { content, text: textOf({ content }) };
  if (!isJsonObject(result)) throw new TypeError("is an object");
  return result;
}

/** All text of a result, blocks apart by line breaks. */
export function textOf({ content }: Pick<CallToolResult, "content">): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}
