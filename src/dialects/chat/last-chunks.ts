import { type JsonObject, objectOf, objectsOf } from "../../domain/core/json.ts";
import { brokenOff, chargeIn } from "../broken-off.ts";

/**
 * Returns the chunks that complete a stream; for an answer that broke off, an error is the last one.
 * @param answer with its charge
 * @param isStarted whether the tool sent its chunks; otherwise the first one has the whole message
 * @param usageChunk whether usage and receipt are in a chunk without choices, as OpenAI sends it
 */
export function lastChunks(answer: JsonObject, isStarted: boolean, usageChunk: boolean): readonly object[] {
  const { choices = null, usage: _, receipt: __, receipt_id: ___, ...others } = answer;
  const { message = null, logprobs = null, ...choice } = objectsOf(choices)[0] ?? {};
  const { id = "", created = 0, model = "" } = answer;
  const head = { ...others, id, object: "chat.completion.chunk", created, model };
  const whole = isStarted
    ? []
    : [
        {
          ...head,
          choices: [{ index: 0, delta: deltaOf(objectOf(message)), logprobs, finish_reason: null }],
        },
      ];
  const end = { ...head, choices: [{ finish_reason: null, ...choice, index: 0, delta: {}, logprobs: null }] };
  const charge = chargeIn(answer);
  const { content } = objectOf(message);
  const broken = brokenOff(
    choice["original_finish_reason"],
    typeof content === "string" ? content.length : 0,
    answer,
  );
  // OpenAI API, "Error codes".
  if (broken) return [...whole, { error: { ...broken, type: "server_error", param: null }, ...charge }];
  return usageChunk
    ? [...whole, end, { ...head, choices: [], ...charge }]
    : [...whole, { ...end, ...charge }];
}

/** A message as the delta of one chunk, in which tool calls have an index. */
function deltaOf({ tool_calls: calls = null, ...delta }: JsonObject): JsonObject {
  if (calls === null) return delta;
  return { ...delta, tool_calls: objectsOf(calls).map((call, index) => ({ index, ...call })) };
}
