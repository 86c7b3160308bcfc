import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
  textOf,
} from "../../domain/core/json.ts";
import { reasoningItems } from "../carried.ts";
import { LACKED, type MemberTable, rule } from "../members.ts";
import { defined } from "./fields.ts";

const [CONVERTED, LEFT] = [rule("converted"), rule("left out", "left out", LACKED)];
const REFUSED = rule("refused", "refused", `${LACKED}, leave it out`);

/** Of a chat completion's request, for servers of Responses. */
export const CHAT_BODY: MemberTable = {
  model: CONVERTED,
  messages: CONVERTED,
  max_tokens: CONVERTED,
  max_completion_tokens: CONVERTED,
  temperature: CONVERTED,
  top_p: CONVERTED,
  tools: CONVERTED,
  tool_choice: CONVERTED,
  parallel_tool_calls: CONVERTED,
  reasoning_effort: CONVERTED,
  verbosity: CONVERTED,
  response_format: CONVERTED,
  logprobs: CONVERTED,
  top_logprobs: CONVERTED,
  seed: LEFT,
  frequency_penalty: LEFT,
  presence_penalty: LEFT,
  stop: REFUSED,
  logit_bias: REFUSED,
  functions: rule("refused", "refused", `${LACKED}; send tools`),
  function_call: rule("refused", "refused", `${LACKED}; send tool_choice`),
};

/** Returns a body of chat completions as a request of Responses. */
export function fromChat(chat: JsonObject): JsonObject {
  const { model, max_tokens, max_completion_tokens: limit = max_tokens, temperature, top_p, stream } = chat;
  const { tools, tool_choice: choice, parallel_tool_calls, reasoning_effort: effort, top_logprobs } = chat;
  const { response_format: format, verbosity, logprobs } = chat;
  const text = defined({ format: formatFrom(format), verbosity });
  const called = objectsOf(tools).map(flat);
  const include = [
    ...(logprobs === true ? ["message.output_text.logprobs"] : []),
    // Servers of models that do not reason refuse it.
    ...(effort === undefined ? [] : ["reasoning.encrypted_content"]),
  ];
  return {
    ...defined({ model, max_output_tokens: limit, temperature, top_p, stream, top_logprobs }),
    input: itemsFrom(objectsOf(chat["messages"])),
    ...(called.length > 0 && {
      tools: called,
      ...defined({ tool_choice: choiceFrom(choice), parallel_tool_calls }),
    }),
    ...(effort !== undefined && { reasoning: { effort } }),
    ...(Object.keys(text).length > 0 && { text }),
    ...(include.length > 0 && { include }),
    store: false,
  };
}

function itemsFrom(messages: readonly JsonObject[]): JsonObject[] {
  const calls = messages.flatMap((message) => objectsOf(message["tool_calls"]));
  const custom = new Set(calls.filter(({ type }) => type === "custom").map(({ id }) => id));
  return messages.flatMap((message) => {
    const { role = "user", content = null, tool_call_id: call_id = "" } = message;
    if (role === "tool") {
      const type = custom.has(call_id) ? "custom_tool_call_output" : "function_call_output";
      return [{ type, call_id, output: contentFrom(content, "input_text") }];
    }
    if (role !== "assistant") return [{ role, content: contentFrom(content, "input_text") }];
    const said = content === null || content === "" ? (message["refusal"] ?? "") : content;
    return [
      ...reasoningItems(message),
      ...(said === "" ? [] : [{ role, content: contentFrom(said, "output_text") }]),
      ...objectsOf(message["tool_calls"]).map(callFrom),
    ];
  });
}

function contentFrom(content: JsonValue, type: "input_text" | "output_text"): JsonValue {
  if (!Array.isArray(content)) return content ?? "";
  return objectsOf(content).map((part) => {
    const { image_url: image, text, refusal } = part;
    if (part["type"] !== "image_url") return { type, text: text ?? refusal ?? "" };
    const { url = "", detail = "auto" } = objectOf(image);
    return { type: "input_image", image_url: url, detail };
  });
}

function callFrom({ id = "", type, ...call }: JsonObject): JsonObject {
  const {
    name = "",
    arguments: args = "",
    input = "",
  } = objectOf(call[type === "custom" ? "custom" : "function"]);
  return type === "custom"
    ? { type: "custom_tool_call", call_id: id, name, input }
    : { type: "function_call", call_id: id, name, arguments: args };
}

/** Tools and choices have their members by their type in one API, and flat in the other. */
function flat(tool: JsonObject): JsonObject {
  const { type = "function" } = tool;
  const { format, ...own } = objectOf(tool[textOf(type)]);
  if (type === "custom") return { type, ...own, ...defined({ format: grammarFrom(format) }) };
  // Functions without parameters have none; those without `strict` are not.
  return { type, parameters: null, strict: false, ...own };
}

function grammarFrom(format: JsonValue | undefined): JsonValue | undefined {
  return isJsonObject(format) && isJsonObject(format["grammar"])
    ? { type: "grammar", ...format["grammar"] }
    : format;
}

function choiceFrom(choice: JsonValue | undefined): JsonValue | undefined {
  if (!isJsonObject(choice)) return choice;
  const { type = "function" } = choice;
  if (type !== "allowed_tools") return { type, ...objectOf(choice[textOf(type)]) };
  const { mode = "auto", tools } = objectOf(choice["allowed_tools"]);
  return { type, mode, tools: objectsOf(tools).map((tool) => choiceFrom(tool) ?? null) };
}

function formatFrom(format: JsonValue | undefined): JsonValue | undefined {
  if (!isJsonObject(format) || format["type"] !== "json_schema") return format;
  return { type: "json_schema", schema: {}, ...objectOf(format["json_schema"]) };
}
