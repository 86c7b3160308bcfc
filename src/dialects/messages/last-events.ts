import { defined, type JsonObject, objectsOf, textOf } from "../../domain/core/json.ts";
import { brokenOff, chargeIn } from "../broken-off.ts";

/** Returns the events after what the model said, or all of a whole answer. See {@link Dialect.lastEvents}. */
export function lastEvents(answer: JsonObject, sent: number): JsonObject[] {
  const {
    content = null,
    stop_reason = null,
    stop_sequence = null,
    original_stop_reason: original,
    notes,
  } = answer;
  const blocks = objectsOf(content);
  const start = sent === 0 ? [startOf(answer), ...blocks.flatMap(blockEvents)] : [];
  const broken = brokenOff(
    original,
    blocks.reduce((sum, { text }) => sum + textOf(text).length, 0),
    answer,
  );
  const charge = chargeIn(answer);
  if (broken) return [...start, { type: "error", error: { type: "api_error", ...broken }, ...charge }];
  const { context_management: edits, stop_details: details, container } = answer;
  const delta = {
    stop_reason,
    stop_sequence,
    ...defined({ stop_details: details, container, original_stop_reason: original }),
  };
  return [
    ...start,
    { type: "message_delta", delta, ...defined({ context_management: edits, notes }), ...charge },
    { type: "message_stop" },
  ];
}

function startOf({
  id = "",
  type = "message",
  role = "assistant",
  model = "",
  usage = null,
}: JsonObject): JsonObject {
  const message = { id, type, role, model, content: [], stop_reason: null, stop_sequence: null, usage };
  return { type: "message_start", message };
}

/** A block as its events: what clients assemble starts empty. */
function blockEvents(block: JsonObject, index: number): JsonObject[] {
  const deltas = deltasOf(block);
  const content_block = deltas.length === 0 ? block : emptied(block);
  return [
    { type: "content_block_start", index, content_block },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
}

function deltasOf(block: JsonObject): JsonObject[] {
  const { type, text = "", thinking = "", signature = "", input = {}, partial_json } = block;
  const citations = objectsOf(block["citations"]).map((citation) => ({ type: "citations_delta", citation }));
  if (type === "text") return [{ type: "text_delta", text }, ...citations];
  if (type === "thinking")
    return [
      { type: "thinking_delta", thinking },
      { type: "signature_delta", signature },
    ];
  if (type === "tool_use" || type === "server_tool_use")
    return [{ type: "input_json_delta", partial_json: partial_json ?? JSON.stringify(input) }];
  return [];
}

function emptied(block: JsonObject): JsonObject {
  const { type, partial_json: _, ...others } = block;
  if (type === "text") return { ...others, type, text: "", ...("citations" in block && { citations: [] }) };
  if (type === "thinking") return { ...others, type, thinking: "", signature: "" };
  return { ...others, type: type ?? null, input: {} };
}
