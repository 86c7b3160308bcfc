import { expect, it } from "vitest";
import { finishOf } from "../../../src/tools/inference-chat/finish-reason.ts";

it.each<[reason: string | null, standard: string, original?: string]>([
  [null, "stop"],
  ["stop", "stop"],
  ["function_call", "function_call"],
  ["STOP", "stop", "STOP"],
  ["eos_token", "stop", "eos_token"],
  ["MAX_TOKENS", "length", "MAX_TOKENS"],
  ["cancelled", "length", "cancelled"],
  ["tool_use", "tool_calls", "tool_use"],
  ["SAFETY", "content_filter", "SAFETY"],
  ["constructor", "stop", "constructor"],
])("the finish reason %s is one of the OpenAI API's", (reason, standard, original) => {
  const member = original === undefined ? {} : { original_finish_reason: original };
  expect(finishOf(reason)).toEqual({ finish_reason: standard, ...member });
});
