import type { JsonObject } from "../../domain/core/json.ts";

/** The reasons of the OpenAI API; its clients may refuse others. */
const STANDARD = new Set(["stop", "length", "tool_calls", "content_filter", "function_call"]);

/** What servers, and the gateway for an answer that it cut, say instead, in lower case. */
const MEANINGS: Readonly<Record<string, readonly string[]>> = {
  length: [
    "max_tokens",
    "max_output_tokens",
    "max_length",
    "model_length",
    "model_context_window_exceeded",
    "timeout",
    "cancelled",
    "connection_lost",
  ],
  tool_calls: ["tool_use", "tool_call", "function_calls"],
  content_filter: [
    "safety",
    "recitation",
    "blocklist",
    "prohibited_content",
    "spii",
    "refusal",
    "sensitive",
    "content_filtered",
  ],
};

const STANDARD_OF = new Map(
  Object.entries(MEANINGS).flatMap(([standard, others]) => others.map((one) => [one, standard] as const)),
);

/** The member `finish_reason` of a choice, with the one that was given where the API has no such one. */
export function finishOf(reason: string | null): JsonObject {
  if (reason === null || STANDARD.has(reason)) return { finish_reason: reason ?? "stop" };
  const word = reason.toLowerCase();
  const standard = STANDARD_OF.get(word) ?? (STANDARD.has(word) ? word : "stop");
  return { finish_reason: standard, original_finish_reason: reason };
}
