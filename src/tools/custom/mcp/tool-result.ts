import type { CallToolResult } from "@modelcontextprotocol/client";
import { isJsonObject, type JsonObject } from "../../../domain/core/json.ts";

/** Returns the structured content if it is an object; else the content blocks and their text. */
export function resultOf({ structuredContent, content }: CallToolResult): JsonObject {
  if (isJsonObject(structuredContent)) return structuredContent;
  const result: unknown = { content, text: textOf({ content }) };
  if (!isJsonObject(result)) throw new TypeError("is an object");
  return result;
}

/** Joins the text blocks with line breaks. */
export function textOf({ content }: Pick<CallToolResult, "content">): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}
