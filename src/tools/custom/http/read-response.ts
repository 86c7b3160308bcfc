import { buffer } from "node:stream/consumers";
import { isJsonObject, type JsonObject } from "../../../domain/core/json.ts";
import { ResponseTooLongError, type ServerAnswer } from "../../../outbound/server-answer.ts";
import { readErrorText, wordsOfBody } from "../../../outbound/error-words.ts";
import { retryAfterOf } from "../../../outbound/retry-after.ts";
import { callFailed, unavailable, failedAfterWork, refusedCall } from "../failure.ts";
import { omitted } from "../omitted.ts";
import { holdsSecret } from "../result-check.ts";
import { charsetOf, isJsonType, isDocumented, mediaTypeOf } from "./media-type.ts";

/** Retry-After when the server sends none, and the highest value passed on to callers. */
const DEFAULT_RETRY_SECONDS = 5;
const MAX_RETRY_SECONDS = 300;

export interface ReadOptions {
  /** The tool's name, for error messages. */
  readonly tool: string;
  /** Documented media types; empty: any. */
  readonly documentedTypes: readonly string[];
  readonly secrets: readonly string[];
  /** Bytes. */
  readonly maxBytes: number;
}

/**
 * Converts a response to a result: a JSON object as it is, other JSON as `{value}`, text as `{text}`, other
 * content as `{base64, media_type}`, an empty body as `{}`. A body over the limit becomes a placeholder.
 * @throws ToolgateError for a status other than 2xx or an undocumented media type
 */
export async function readResponse(answer: ServerAnswer, reading: ReadOptions): Promise<JsonObject> {
  const { tool } = reading;
  if (isCallersFault(answer.status)) {
    const words = wordsOfBody(await readErrorText(answer));
    const cause = new Error(`HTTP ${answer.status}`);
    const what = `the server refused the call (HTTP ${answer.status})`;
    throw refusedCall(tool, what, words, { secrets: reading.secrets, cause });
  }
  if (answer.status < 200 || answer.status > 299) {
    answer.discard();
    throw failure(tool, answer);
  }
  const body = await bodyOf(answer, tool);
  if (body?.length === 0) return {};
  const contentType = answer.headers.get("content-type") ?? "application/octet-stream";
  const mediaType = mediaTypeOf(contentType);
  if (!isDocumented(mediaType, reading.documentedTypes))
    throw failedAfterWork(tool, "the server answered with an undocumented content type", mediaType);
  if (!body)
    return omitted("too_long", `the answer is longer than ${reading.maxBytes} bytes`, lengthOf(answer));
  // Covers binary content. The result is checked again after JSON and charset decoding.
  if (holdsSecret(body.toString("latin1"), reading.secrets))
    throw failedAfterWork(tool, "the server's answer repeats a secret header", undefined);
  try {
    return resultOf(body, mediaType, contentType);
  } catch (error) {
    throw failedAfterWork(tool, "the server's answer could not be read", error);
  }
}

function resultOf(body: Buffer, mediaType: string, contentType: string): JsonObject {
  if (isJsonType(mediaType)) {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    if (isJsonObject(value)) return value;
    const wrapped: unknown = { value };
    return isJsonObject(wrapped) ? wrapped : {};
  }
  if (mediaType.startsWith("text/"))
    return { text: new TextDecoder(charsetOf(contentType), { fatal: true }).decode(body) };
  return { base64: body.toString("base64"), media_type: mediaType };
}

/** Undefined if it exceeds the limit. */
async function bodyOf(answer: ServerAnswer, tool: string): Promise<Buffer | undefined> {
  try {
    return await buffer(answer.body);
  } catch (error) {
    if (error instanceof ResponseTooLongError) return undefined;
    throw failedAfterWork(tool, "the connection to the server broke", error);
  }
}

/** Uncompressed Content-Length; null if unknown. */
function lengthOf({ headers }: ServerAnswer): number | null {
  const length = headers.get("content-length") ?? "";
  return headers.has("content-encoding") || !/^\d{1,15}$/.test(length) ? null : Number(length);
}

/** Statuses of 4xx that concern the operator, or only the time. */
const OF_OPERATOR = new Set([401, 402, 403, 407, 408, 425, 429]);

function isCallersFault(status: number): boolean {
  return status >= 400 && status < 500 && !OF_OPERATOR.has(status);
}

function failure(tool: string, { status, headers }: ServerAnswer): Error {
  const cause = new Error(`HTTP ${status}`);
  if (status === 429 || status === 503) {
    const seconds = retryAfterOf(headers, MAX_RETRY_SECONDS) ?? DEFAULT_RETRY_SECONDS;
    return unavailable(tool, "the server is busy", seconds, cause, status);
  }
  if (status === 401 || status === 402 || status === 403 || status === 407)
    return callFailed(tool, "the server refused the operator's credentials", cause);
  if (status < 400) return callFailed(tool, "the server redirects, which is not followed", cause);
  return callFailed(tool, `the server failed (HTTP ${status})`, cause);
}
