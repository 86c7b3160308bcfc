import {
  defined,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
  parsedJson,
  textOf,
} from "../../domain/core/json.ts";
import { thinkingBlocks } from "../carried.ts";
import { LACKED, type MemberTable, rule } from "../members.ts";

const left = rule("left out", "left out", LACKED);
const refused = rule("refused", "refused", `${LACKED}, leave it out`);
const converted = rule("converted");

/** Of a chat completion's request, for servers of Messages. */
export const CHAT_BODY: MemberTable = {
  model: converted,
  messages: converted,
  max_tokens: converted,
  max_completion_tokens: converted,
  temperature: converted,
  top_p: converted,
  stop: converted,
  tools: converted,
  tool_choice: converted,
  parallel_tool_calls: converted,
  reasoning_effort: converted,
  response_format: converted,
  seed: left,
  frequency_penalty: left,
  presence_penalty: left,
  verbosity: left,
  logprobs: refused,
  top_logprobs: refused,
  logit_bias: refused,
  functions: rule("refused", "refused", `${LACKED}; send tools`),
  function_call: rule("refused", "refused", `${LACKED}; send tool_choice`),
};

/** Returns a body of chat completions as a request of Messages. */
export function fromChat(chat: JsonObject): JsonObject {
  const {
    model = "",
    max_tokens,
    max_completion_tokens: limit = max_tokens,
    temperature,
    top_p,
    stop,
  } = chat;
  const messages = objectsOf(chat["messages"]);
  const system = messages.filter(isSystem).flatMap(({ content }) => blocksOf(content));
  const { tools, tool_choice: choice, parallel_tool_calls: parallel } = chat;
  const called = objectsOf(tools).map(toolOf);
  return defined({
    model,
    max_tokens: limit,
    // It goes to 2 in chat completions.
    temperature: typeof temperature === "number" ? Math.min(1, temperature) : undefined,
    top_p,
    stop_sequences: typeof stop === "string" ? [stop] : stop,
    system: system.length > 0 ? system : undefined,
    messages: merged(messages.filter((message) => !isSystem(message)).map(messageOf)),
    tools: called.length > 0 ? called : undefined,
    tool_choice: called.length > 0 ? choiceOf(choice, parallel) : undefined,
    output_config: outputOf(chat),
    stream: chat["stream"],
  });
}

function isSystem({ role }: JsonObject): boolean {
  return role === "system" || role === "developer";
}

function messageOf({ role, content = null, ...more }: JsonObject): JsonObject & { content: JsonObject[] } {
  if (role === "tool" || role === "function") {
    const id = more["tool_call_id"] ?? "";
    return { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: blocksOf(content) }] };
  }
  if (role !== "assistant") return { role: "user", content: blocksOf(content) };
  const calls = objectsOf(more["tool_calls"]).map(({ id = "", function: called }) => {
    const { name = "", arguments: input = "" } = objectOf(called);
    const parsed = parsedJson(textOf(input) || "{}");
    return { type: "tool_use", id, name, input: isJsonObject(parsed) ? parsed : { input } };
  });
  return { role, content: [...thinkingBlocks(more), ...blocksOf(content), ...calls] };
}

/** Messages of one side after each other are one: results of tools must be together. */
function merged(messages: readonly (JsonObject & { content: JsonObject[] })[]): JsonObject[] {
  const all: (JsonObject & { content: JsonObject[] })[] = [];
  for (const message of messages) {
    const last = all.at(-1);
    if (last && last["role"] === message["role"]) last.content.push(...message.content);
    else all.push({ ...message, content: [...message.content] });
  }
  return all.filter(({ content }) => content.length > 0);
}

function blocksOf(content: JsonValue | undefined): JsonObject[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return objectsOf(content).flatMap(blockOf);
}

/** Empty texts are refused there. */
function blockOf({ type, text, refusal, image_url: image, cache_control: cache }: JsonObject): JsonObject[] {
  const mark = cache === undefined ? {} : { cache_control: cache };
  const words = type === "refusal" ? refusal : text;
  if ((type === "text" || type === "refusal") && typeof words === "string" && words !== "")
    return [{ type: "text", text: words, ...mark }];
  if (type !== "image_url") return [];
  const { url = "" } = objectOf(image);
  return [{ type: "image", source: imageSource(textOf(url)), ...mark }];
}

/** A data URL as its bytes; the server fetches others. */
function imageSource(url: string): JsonObject {
  const mark = url.indexOf(",");
  const [, media] = /^data:([^;,]*)/i.exec(url.slice(0, 100)) ?? [];
  return media === undefined
    ? { type: "url", url }
    : { type: "base64", media_type: media, data: url.slice(mark + 1) };
}

function toolOf(tool: JsonObject): JsonObject {
  const { name = "", description, parameters, strict } = objectOf(tool["function"] ?? tool["custom"]);
  return {
    name,
    ...(description !== undefined && description !== null && { description }),
    input_schema: isJsonObject(parameters) ? parameters : { type: "object" },
    ...(strict === true && { strict }),
  };
}

function choiceOf(choice: JsonValue | undefined, parallel: JsonValue | undefined): JsonObject | undefined {
  const single = parallel === false ? { disable_parallel_tool_use: true } : {};
  if (choice === "none") return { type: "none" };
  if (choice === "required") return { type: "any", ...single };
  const { name } = isJsonObject(choice) ? objectOf(choice["function"] ?? choice["custom"]) : {};
  if (typeof name === "string") return { type: "tool", name, ...single };
  return choice === undefined && parallel !== false ? undefined : { type: "auto", ...single };
}

function outputOf({ reasoning_effort: effort, response_format: format }: JsonObject): JsonObject | undefined {
  const { schema } = objectOf(objectOf(format)["json_schema"]);
  // Chat completions have more words for little effort.
  const level =
    typeof effort === "string"
      ? ["medium", "high", "xhigh", "max"].includes(effort)
        ? effort
        : "low"
      : undefined;
  const config = {
    ...(level !== undefined && { effort: level }),
    ...(isJsonObject(schema) && { format: { type: "json_schema", schema } }),
  };
  return Object.keys(config).length > 0 ? config : undefined;
}
