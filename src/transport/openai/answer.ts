import type { MessageShape } from "@bufbuild/protobuf";
import { receiptToJson } from "#gen/toolgate/v1/receipt_http.ts";
import type { CallToolResponseSchema } from "#gen/toolgate/v1/tool_service_pb.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";

type CallAnswer = MessageShape<typeof CallToolResponseSchema>;

/** Returns the result with its charge and receipt. */
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

/**
 * Returns the chunks that complete a stream.
 * @param isStarted whether the tool sent its chunks; otherwise the first one has the whole message
 * @param usageChunk whether usage and receipt are in a chunk without choices, as OpenAI sends it
 */
export function lastChunks(answer: CallAnswer, isStarted: boolean, usageChunk: boolean): readonly object[] {
  const { result = {} } = answer;
  const [choice] = listOf(result["choices"]);
  const { message = null, logprobs = null, finish_reason = null } = choice ?? {};
  const { id = "", created = 0, model = "" } = result;
  const head = { id, object: "chat.completion.chunk", created, model };
  const whole = isStarted
    ? []
    : [{ ...head, choices: [{ index: 0, delta: deltaOf(message), logprobs, finish_reason: null }] }];
  const end = { ...head, choices: [{ index: 0, delta: {}, logprobs: null, finish_reason }] };
  const charge = chargeJson(answer);
  return usageChunk
    ? [...whole, end, { ...head, choices: [], ...charge }]
    : [...whole, { ...end, ...charge }];
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
