import type { MessageShape } from "@bufbuild/protobuf";
import { receiptToJson } from "#gen/toolgate/v1/receipt_http.ts";
import type { CallToolResponseSchema } from "#gen/toolgate/v1/tool_service_pb.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";
import { jsonOf } from "../../domain/core/json-cache.ts";
import type { Result } from "./modern-result.ts";

/** Types of content blocks (MCP, tool result). */
const BLOCKS: ReadonlySet<unknown> = new Set(["text", "image", "audio", "resource", "resource_link"]);

/** Returns a successful tool result with its receipt. */
export function toolResult({ result = {}, receipt }: MessageShape<typeof CallToolResponseSchema>): Result {
  const blocks = blocksOf(result);
  const answer = blocks
    ? { content: blocks, isError: false }
    : { content: [{ type: "text", text: jsonOf(result) }], structuredContent: result, isError: false };
  return receipt ? { ...answer, _meta: { "toolgate/receipt": receiptToJson(receipt) } } : answer;
}

/**
 * Returns content blocks for custom tools that return media: the `{content, text}` of another MCP server, or
 * `{base64, media_type}` of an image or sound.
 */
function blocksOf(result: JsonObject): object[] | undefined {
  if (result["content"] === undefined && result["base64"] === undefined) return undefined;
  const { content, text: _, base64, media_type: mimeType, ...more } = result;
  if (Object.keys(more).length > 0) return undefined;
  if (Array.isArray(content) && content.length > 0) return content.every(isBlock) ? content : undefined;
  if (typeof base64 !== "string" || typeof mimeType !== "string") return undefined;
  const type = /^(image|audio)\//.exec(mimeType)?.[1];
  return type === undefined ? undefined : [{ type, data: base64, mimeType }];
}

function isBlock(value: JsonValue): value is JsonObject {
  return isJsonObject(value) && BLOCKS.has(value["type"]);
}

/** Returns a tool result that explains invalid arguments to the model (MCP, tool execution errors). */
export function failedToolResult(message: string): Result {
  return { content: [{ type: "text", text: message }], isError: true };
}
