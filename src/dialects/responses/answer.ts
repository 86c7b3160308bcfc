import { type JsonObject, objectOf, objectsOf } from "../../domain/core/json.ts";
import { withoutCharge } from "../broken-off.ts";
import { outputFrom } from "./events.ts";
import { type Asked, reasonOfCut, startedResponse } from "./response.ts";

const ENDED: ReadonlySet<unknown> = new Set(["completed", "incomplete"]);

/** Returns an answer (OpenAI API, "The response object"). See `answerOf` of dialect.ts. */
export function answerFrom(
  completion: JsonObject,
  passed: JsonObject | undefined,
  asked: Asked,
  streamed: readonly JsonObject[] = [],
): JsonObject {
  const [choice = {}] = objectsOf(completion["choices"]);
  const { status = null, incomplete_details = null, output, ...own } = withoutCharge(passed);
  const { original_finish_reason: original } = choice;
  return {
    ...startedResponse(asked, completion, own),
    ...(ENDED.has(status) ? { status, incomplete_details } : endOf(choice)),
    output: passed
      ? objectsOf(output)
      : streamed.length > 0
        ? [...streamed]
        : outputFrom(completion, choice, asked),
    usage: usageFrom(objectOf(completion["usage"])),
    ...(original !== undefined && { original_finish_reason: original }),
    ...(asked.notes.size > 0 && { notes: [...asked.notes] }),
  };
}

function endOf(choice: JsonObject): JsonObject {
  const reason = reasonOfCut(choice);
  return reason === undefined
    ? { status: "completed" }
    : { status: "incomplete", incomplete_details: { reason } };
}

/** A chat completion's counts under the names of responses, with what else the server says. */
function usageFrom(usage: JsonObject): JsonObject {
  const {
    prompt_tokens,
    completion_tokens,
    total_tokens,
    prompt_tokens_details,
    completion_tokens_details,
    ...others
  } = usage;
  return {
    ...others,
    input_tokens: prompt_tokens ?? 0,
    input_tokens_details: { cached_tokens: 0, ...objectOf(prompt_tokens_details) },
    output_tokens: completion_tokens ?? 0,
    output_tokens_details: { reasoning_tokens: 0, ...objectOf(completion_tokens_details) },
    total_tokens: total_tokens ?? 0,
  };
}
