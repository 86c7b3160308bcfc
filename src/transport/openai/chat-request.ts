import { parseBody } from "#httpjson/runtime/index.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";

/** OpenAI API, "Create chat completion". */
export interface ChatCompletionRequest {
  /** The body without what concerns only the form of the answer: a repeat may ask for another. */
  readonly params: JsonObject;
  readonly stream: boolean;
  /** Whether the token counts are a chunk of their own. */
  readonly usageChunk: boolean;
}

/** @throws ToolgateError INVALID_REQUEST; JsonFieldError for what is not JSON */
export function readBodyObject(bytes: Uint8Array): JsonObject {
  const body = parseBody(bytes);
  if (!isObject(body)) throw new ToolgateError("INVALID_REQUEST", "body: must be a JSON object");
  return body;
}

/** @throws ToolgateError INVALID_REQUEST */
export function readChatRequest(body: JsonObject): ChatCompletionRequest {
  const { stream = null, stream_options: options = null, ...params } = body;
  if (stream !== null && typeof stream !== "boolean") throw invalidField("stream", "must be true or false");
  if (options === null) return { params, stream: stream ?? false, usageChunk: false };
  if (!stream) throw invalidField("stream_options", "is for streams; set stream to true, or leave it out");
  return { params, stream, usageChunk: includesUsage(options) };
}

/** OpenAI API, "Create chat completion", `stream_options`. Nothing is obfuscated. */
function includesUsage(options: JsonValue): boolean {
  if (!isJsonObject(options)) throw invalidField("stream_options", "must be an object");
  const { include_usage: usage = null, include_obfuscation: _, ...unknown } = options;
  const [name] = Object.keys(unknown);
  if (name !== undefined)
    throw invalidField(`stream_options.${name.slice(0, 64)}`, "is unknown, there is include_usage");
  if (usage !== null && typeof usage !== "boolean")
    throw invalidField("stream_options.include_usage", "must be true or false");
  return usage ?? false;
}

/** What JSON.parse returned. */
function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
