import { type JsonObject, objectsOf, textOf } from "../../domain/core/json.ts";
import { brokenOff, type BrokenOff } from "../broken-off.ts";
import {
  ARGUMENTS,
  GrowingItem,
  INPUT,
  type Kind,
  REASONING,
  REFUSAL,
  type SendEvent,
  SUMMARY,
  TEXT,
} from "./growing-item.ts";

const PARTS: Readonly<Record<string, Kind>> = {
  summary_text: SUMMARY,
  reasoning_text: REASONING,
  output_text: TEXT,
  refusal: REFUSAL,
};
const CALLS: Readonly<Record<string, Kind>> = { function_call: ARGUMENTS, custom_tool_call: INPUT };

/** Returns the event after what the model said, or all of a whole answer. See {@link Dialect.lastEvents}. */
export function lastEvents(answer: JsonObject, sent: number): readonly JsonObject[] {
  const output = objectsOf(answer["output"]);
  const events: JsonObject[] = [];
  const send: SendEvent = (type, members) => {
    events.push({ type, sequence_number: sent + events.length, ...members });
  };
  if (sent === 0) {
    const response = { ...answer, ...STARTED };
    send("response.created", { response });
    send("response.in_progress", { response });
    for (const [index, item] of output.entries()) sendItem(item, index, send);
  }
  const { original_finish_reason: original, ...response } = answer;
  const said = output.flatMap(({ content }) => objectsOf(content).map(({ text }) => textOf(text).length));
  const broken = brokenOff(
    original,
    said.reduce((sum, length) => sum + length, 0),
    answer,
  );
  if (broken) send("response.failed", { response: { ...response, ...failed(broken) } });
  else send(`response.${textOf(answer["status"])}`, { response: answer });
  return events;
}

const STARTED = { status: "in_progress", output: [], usage: null, error: null, incomplete_details: null };

function failed({ message, code }: BrokenOff): JsonObject {
  return {
    status: "failed",
    incomplete_details: null,
    error: { code: "server_error", message, reason: code },
  };
}

function sendItem(item: JsonObject, index: number, send: SendEvent): void {
  const { type, status = "completed" } = item;
  const call = CALLS[textOf(type)];
  const shell: JsonObject = { ...item, status: "in_progress" };
  if (call) shell[call.text] = "";
  for (const list of ["summary", "content"]) if (list in item) shell[list] = [];
  const growing = new GrowingItem(shell, index, send);
  if (call) growing.add(call, textOf(item[call.text]));
  for (const part of [...objectsOf(item["summary"]), ...objectsOf(item["content"])]) {
    const kind = PARTS[textOf(part["type"])];
    if (!kind?.part) continue;
    const { [kind.text]: text = "", ...empty } = part;
    growing.add({ ...kind, part: { ...kind.part, empty } }, textOf(text));
  }
  Object.assign(shell, item);
  growing.end(textOf(status));
}
