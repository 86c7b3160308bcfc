import type { MessageShape } from "@bufbuild/protobuf";
import { receiptToJson } from "#gen/toolgate/v1/receipt_http.ts";
import type { CallToolResponseSchema } from "#gen/toolgate/v1/tool_service_pb.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";
import { displayUsd } from "../../domain/core/money.ts";
import type { Clock } from "../../domain/core/clock.ts";
import type { Header } from "../headers.ts";
import type { HttpResponse } from "../http/response.ts";

type CallAnswer = MessageShape<typeof CallToolResponseSchema>;

export function answerJson(answer: CallAnswer): object {
  const { result = {} } = answer;
  return { ...result, ...chargeJson(answer) };
}

/** The members `usage`, `receipt_id` and `receipt`; the id twice, as many clients return only `usage`. */
function chargeJson({ result, receipt }: CallAnswer): object {
  const usage = result?.["usage"];
  if (!receipt) return { usage };
  const { receiptId, debitedUsdcMicrousd } = receipt;
  return {
    usage: {
      ...objectOf(usage),
      cost_usdc_microusd: Number(debitedUsdcMicrousd),
      receipt_id: receiptId,
    },
    receipt_id: receiptId,
    receipt: receiptToJson(receipt),
  };
}

/** Reasons of an answer that its model server did not end, so that the caller has a part of it. */
const BROKEN: ReadonlySet<JsonValue | undefined> = new Set(["connection_lost", "timeout"]);

/**
 * Returns the chunks that complete a stream; for an answer that broke off, an error is the last one.
 * @param isStarted whether the tool sent its chunks; otherwise the first one has the whole message
 * @param usageChunk whether usage and receipt are in a chunk without choices, as OpenAI sends it
 */
export function lastChunks(answer: CallAnswer, isStarted: boolean, usageChunk: boolean): readonly object[] {
  const { result = {} } = answer;
  const { choices = null, usage: _, ...others } = result;
  const { message = null, logprobs = null, ...choice } = listOf(choices)[0] ?? {};
  const { id = "", created = 0, model = "" } = result;
  const head = { ...others, id, object: "chat.completion.chunk", created, model };
  const whole = isStarted
    ? []
    : [{ ...head, choices: [{ index: 0, delta: deltaOf(message), logprobs, finish_reason: null }] }];
  const end = { ...head, choices: [{ finish_reason: null, ...choice, index: 0, delta: {}, logprobs: null }] };
  const charge = chargeJson(answer);
  if (BROKEN.has(choice["original_finish_reason"])) return [...whole, { ...brokenOff(answer), ...charge }];
  return usageChunk
    ? [...whole, end, { ...head, choices: [], ...charge }]
    : [...whole, { ...end, ...charge }];
}

/** OpenAI API, "Error codes", with what was delivered and charged. */
function brokenOff({ result, receipt }: CallAnswer): object {
  const { message, original_finish_reason: code = null } = listOf(result?.["choices"])[0] ?? {};
  const { content } = objectOf(message);
  const characters = typeof content === "string" ? content.length : 0;
  const charged = receipt
    ? `${displayUsd(receipt.debitedUsdcMicrousd)}, receipt ${receipt.receiptId}`
    : "nothing";
  const words = `the model server broke off its answer after ${characters} characters; charged: ${charged}`;
  return { error: { message: words, type: "server_error", code, param: null } };
}

/** A message as the delta of one chunk, in which tool calls have an index. */
function deltaOf(message: JsonValue): JsonObject {
  const { tool_calls: calls = null, ...delta } = objectOf(message);
  if (calls === null) return delta;
  return { ...delta, tool_calls: listOf(calls).map((call, index) => ({ index, ...call })) };
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function listOf(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** The member that an error names first, such as `messages[0].content`. */
const PARAM = /^(?:params\.)?([\w.[\]-]+): /;

/** Returns a contract error that is one of the OpenAI API too: `error` beside our members. */
export function openAiError(answer: HttpResponse): HttpResponse {
  const { status, json, refusal = {} } = answer;
  if (typeof json !== "object" || json === null || !("code" in json) || !("message" in json)) return answer;
  const { code } = json;
  const named = String(json.message);
  const message = named.replaceAll(/\bparams\./g, "");
  const param = code === "INVALID_REQUEST" ? (PARAM.exec(named)?.[1] ?? null) : null;
  // Clients know these words, such as `context_length_exceeded`.
  const error = { message, type: typeOf(status), code, param, ...refusal };
  return { ...answer, json: { ...json, message, error } };
}

/** OpenAI API, "Error codes". */
function typeOf(status: number): string {
  switch (status) {
    case 401:
      return "authentication_error";
    case 402:
      return "insufficient_quota";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

/** The names that OpenAI gives the rate limit's headers (OpenAI API, "Rate limits"). */
const SAME: Readonly<Record<string, string>> = {
  "x-ratelimit-limit": "x-ratelimit-limit-requests",
  "x-ratelimit-remaining": "x-ratelimit-remaining-requests",
};

/** Returns the rate limit headers under OpenAI's names; the reset is a duration there. */
export function openAiRateHeaders(headers: readonly Header[], clock: Clock): Header[] {
  return headers.flatMap(([name, value]): Header[] => {
    if (name === "x-ratelimit-reset") {
      const seconds = Math.max(0, Number(value) - Math.floor(clock.now() / 1_000));
      return [["x-ratelimit-reset-requests", `${seconds}s`]];
    }
    const same = SAME[name];
    return same === undefined ? [] : [[same, value]];
  });
}
