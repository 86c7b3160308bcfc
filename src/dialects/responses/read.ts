import { invalidField } from "../../domain/core/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";
import type { CallerRequest, Target } from "../dialect.ts";
import { keptMembers, LACKED, type Reading } from "../members.ts";
import { answerFrom } from "./answer.ts";
import { ResponseEvents } from "./events.ts";
import { defined, present } from "./fields.ts";
import { BODY } from "./members.ts";
import { readInput } from "./read-items.ts";
import { chatChoice, readTools } from "./read-tools.ts";
import type { Asked } from "./response.ts";

/** Values that say no more than their absence. */
const DEFAULTS: Readonly<Record<string, JsonValue>> = { background: false, truncation: "disabled" };

const LOGPROBS = "message.output_text.logprobs";

/** Reads a request (OpenAI API, "Create a model response"). @throws ToolgateError INVALID_REQUEST */
export function readRequest(given: JsonObject, target: Target): CallerRequest {
  const notes = new Set<string>();
  const isSame = target.api === "responses";
  const reading: Reading = { isSame, api: target.api, isOpen: target.passesUnknown === true, notes };
  const sent = Object.entries(given).filter(([name, value]) => value !== DEFAULTS[name]);
  const body = keptMembers(Object.fromEntries(sent), BODY, reading);
  if (body["input"] === undefined)
    throw invalidField("params.input", "is required, a string or a list of items");
  const limit = limitOf(body["max_output_tokens"], target.maxOutputTokens, notes);
  const tools = readTools(body["tools"], reading);
  const input = readInput(body, reading);
  const { model, temperature, top_p, parallel_tool_calls: parallel } = body;
  const chat = {
    ...defined({ model, temperature, top_p, max_completion_tokens: limit }),
    messages: input.messages,
    ...(tools.chat.length > 0 && { tools: tools.chat, ...defined({ parallel_tool_calls: parallel }) }),
    ...chatChoice(body["tool_choice"], tools, isSame),
    ...textMembers(body["text"]),
    ...reasoningMembers(body["reasoning"], reading),
    ...logprobMembers(body),
  };
  const asked: Asked = { notes, names: tools.names, repeated: repeatedMembers(given) };
  return {
    chat,
    passed: isSame
      ? {
          api: "responses",
          body: passedBody({ ...body, input: input.sent }, tools.sent, limit ?? target.maxOutputTokens),
        }
      : undefined,
    answerOf: (completion, answer, streamed) => answerFrom(completion, answer, asked, streamed),
    events: () => new ResponseEvents(asked),
  };
}

/** Servers store answers by default. */
function passedBody(
  { model: _, ...body }: JsonObject,
  tools: JsonObject[],
  max_output_tokens: number,
): JsonObject {
  const { tools: __, tool_choice: choice, ...others } = body;
  const called = tools.length > 0 && { tools, ...defined({ tool_choice: choice }) };
  return { ...others, ...called, max_output_tokens, store: false };
}

/** Agents send a limit of their own choice, so it is lowered to the model's. */
function limitOf(limit: JsonValue | undefined, most: number, notes: Set<string>): number | undefined {
  if (limit === undefined) return undefined;
  if (typeof limit !== "number" || !Number.isInteger(limit) || limit < 1)
    throw invalidField("params.max_output_tokens", "must be a whole number of at least 1");
  if (limit > most) notes.add(`max_output_tokens: lowered to ${most}, the most of the model`);
  return Math.min(limit, most);
}

function textMembers(text: JsonValue = {}): JsonObject {
  if (!isJsonObject(text)) throw invalidField("params.text", "must be an object");
  const { format = null, verbosity = null } = text;
  return present({ response_format: chatFormat(format), verbosity });
}

function chatFormat(format: JsonValue): JsonValue {
  if (format === null) return null;
  const { type, ...schema } = isJsonObject(format) ? format : {};
  if (type === "text") return null;
  if (type === "json_object") return { type };
  if (type === "json_schema") return { type, json_schema: present(schema) };
  throw invalidField("params.text.format.type", "must be text, json_object or json_schema");
}

function reasoningMembers(reasoning: JsonValue = {}, { isSame, notes }: Reading): JsonObject {
  if (!isJsonObject(reasoning)) throw invalidField("params.reasoning", "must be an object");
  // The answer has a summary wherever its server says how it reasoned.
  const { effort = null, summary: _, generate_summary: __, ...others } = present(reasoning);
  if (!isSame) for (const name of Object.keys(others)) notes.add(`reasoning.${name}: left out; ${LACKED}`);
  return present({ reasoning_effort: effort });
}

function logprobMembers({ include, top_logprobs: top = 0 }: JsonObject): JsonObject {
  const isIncluded = Array.isArray(include) && include.includes(LOGPROBS);
  return isIncluded || top !== 0 ? { logprobs: true, top_logprobs: top } : {};
}

/** OpenAI API, "The response object". */
const REPEATED: JsonObject = {
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  reasoning: { effort: null, summary: null },
  temperature: null,
  text: { format: { type: "text" } },
  tool_choice: "auto",
  tools: [],
  top_logprobs: 0,
  top_p: null,
  truncation: "disabled",
  user: null,
};

function repeatedMembers(body: JsonObject): JsonObject {
  const given = Object.entries(present(body)).filter(([name]) => Object.hasOwn(REPEATED, name));
  const none = { background: false, previous_response_id: null, store: false };
  return { ...REPEATED, ...Object.fromEntries(given), ...none };
}
