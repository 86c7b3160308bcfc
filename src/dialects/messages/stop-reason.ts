import { type JsonObject, type JsonValue, textOf } from "../../domain/core/json.ts";

/** Anthropic API, "Handling stop reasons", by the finish reasons of chat completions. */
const STOP_REASONS: Readonly<Record<string, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  function_call: "tool_use",
  content_filter: "refusal",
};

const OWN: ReadonlySet<unknown> = new Set([
  ...Object.values(STOP_REASONS),
  "stop_sequence",
  "pause_turn",
  "compaction",
  "model_context_window_exceeded",
]);

/** Returns the members of an answer that say why it ended. @param choice of a chat completion */
export function stopOf(choice: JsonObject, stops: readonly JsonValue[]): JsonObject {
  const {
    finish_reason: reason = null,
    original_finish_reason: original = null,
    stop_reason: stop = null,
  } = choice;
  // vLLM says which text ended the answer.
  if (typeof stop === "string" && stops.includes(stop))
    return { stop_reason: "stop_sequence", stop_sequence: stop };
  const known = OWN.has(original) ? original : (STOP_REASONS[textOf(reason)] ?? "end_turn");
  const isOther = original !== null && original !== known;
  return { stop_reason: known, stop_sequence: null, ...(isOther && { original_stop_reason: original }) };
}

/** Returns the finish reason of a chat completion. */
export function finishReasonOf(stop: JsonValue | undefined): string | null {
  if (typeof stop !== "string") return null;
  if (stop === "stop_sequence") return "stop";
  return Object.entries(STOP_REASONS).find(([, own]) => own === stop)?.[0] ?? stop;
}
