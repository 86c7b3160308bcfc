import type { CallToolResult, JSONRPCMessage } from "@modelcontextprotocol/client";
import { isJsonObject, type JsonObject } from "../../../domain/core/json.ts";

type Answer = Extract<JSONRPCMessage, { result: object }>;

/** Carries the content as received past the client library, which refuses blocks that it does not know. */
const CONTENT = "toolgate/content";

/** Returns an answer with its content in `_meta` only. Its members that are null are left out. */
export function withWholeContent(answer: Answer): Answer {
  const { content } = answer.result;
  if (!Array.isArray(content) || !content.every(isJsonObject)) return answer;
  const result = Object.fromEntries(Object.entries(answer.result).filter(([, value]) => value !== null));
  const { _meta: meta } = result;
  return {
    ...answer,
    result: { ...result, content: [], _meta: { ...(isJsonObject(meta) && meta), [CONTENT]: content } },
  };
}

/** The result of a call. */
export interface WholeResult {
  /** Blocks as the server sent them. */
  readonly content: readonly JsonObject[];
  readonly structuredContent: unknown;
  readonly isError: boolean;
  readonly meta: JsonObject | undefined;
}

export function wholeResult({
  structuredContent,
  isError,
  _meta = {},
}: Partial<CallToolResult>): WholeResult {
  const { [CONTENT]: content, ...meta } = _meta;
  return {
    content: Array.isArray(content) ? content.filter(isJsonObject) : [],
    structuredContent,
    isError: isError === true,
    meta: isJsonObject(meta) && Object.keys(meta).length > 0 ? meta : undefined,
  };
}
