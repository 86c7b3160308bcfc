import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { defined, isJsonObject, type JsonObject, type JsonValue, textOf } from "../../domain/core/json.ts";
import type { CallerRequest, Target } from "../dialect.ts";
import { fateOf, keptMembers, LACKED, type Reading } from "../members.ts";
import { answerFrom } from "./answer.ts";
import { MessageEvents } from "./events.ts";
import { BETAS, BODY } from "./members.ts";
import { chatMessages, withoutGone } from "./read-messages.ts";
import { chatChoice, readTools } from "./read-tools.ts";

/** Reads a request (Anthropic API, "Create a Message"). @throws ToolgateError INVALID_REQUEST */
export function readRequest(sent: JsonObject, target: Target): CallerRequest {
  const notes = new Set<string>();
  const isSame = target.api === "messages";
  const isOpen = target.passesUnknown === true;
  const reading = { isSame, api: target.api, isOpen, notes, gone: new Set<JsonValue>() };
  const body = keptMembers(sent, BODY, reading);
  const limit = limitOf(body, target.maxOutputTokens, notes);
  const tools = readTools(body["tools"], reading);
  const choice = chatChoice(body["tool_choice"], tools);
  const messages = chatMessages(body["system"], body["messages"], reading);
  const chat = {
    ...sampling(body),
    ...(typeof body["model"] === "string" && { model: body["model"] }),
    ...(limit !== undefined && { max_tokens: limit }),
    messages,
    ...(tools.chat.length > 0 && { tools: tools.chat, ...choice }),
    ...outputOf(body, reading),
  };
  const { betas, model: _, ...members } = body;
  const own = {
    ...members,
    messages: withoutGone(body["messages"] ?? [], reading.gone),
    max_tokens: limit ?? target.maxOutputTokens,
  };
  const passed = {
    api: "messages" as const,
    body: tools.sent.length > 0 ? { ...own, tools: tools.sent } : without(own, ["tools", "tool_choice"]),
    headers: betaHeader(betas, reading),
  };
  const stops = Array.isArray(body["stop_sequences"]) ? body["stop_sequences"] : [];
  return {
    chat,
    passed: isSame ? passed : undefined,
    answerOf: (completion, answer) => answerFrom(completion, answer, { stops, notes: [...notes] }),
    events: (promptTokens) => new MessageEvents(promptTokens),
  };
}

/** Agents send a limit of their own choice, so it is lowered to the model's. */
function limitOf(body: JsonObject, most: number, notes: Set<string>): number | undefined {
  const limit = body["max_tokens"];
  if (limit === undefined) return undefined;
  if (typeof limit !== "number" || !Number.isInteger(limit) || limit < 1)
    throw invalidField("params.max_tokens", "must be a whole number of at least 1");
  if (limit > most) notes.add(`max_tokens: lowered to ${most}, the most of the model`);
  return Math.min(limit, most);
}

function sampling({ temperature, top_p, stop_sequences: stop }: JsonObject): JsonObject {
  return defined({ temperature, top_p, stop });
}

/** How hard the model tries, and the format of what it says. */
function outputOf(body: JsonObject, { notes, isSame }: Reading): JsonObject {
  const config = body["output_config"] ?? {};
  if (!isJsonObject(config)) throw invalidField("params.output_config", "must be an object");
  const { effort = null, format = body["output_format"] ?? null, ...others } = config;
  for (const name of isSame ? [] : Object.keys(others))
    notes.add(`output_config.${name}: left out; ${LACKED}`);
  return { ...effortOf(effort), ...formatOf(format) };
}

function effortOf(effort: JsonValue): JsonObject {
  if (effort === null) return {};
  if (typeof effort !== "string") throw invalidField("params.output_config.effort", "must be a string");
  // The highest that chat completions have.
  return { reasoning_effort: effort === "max" || effort === "xhigh" ? "high" : effort };
}

function formatOf(format: JsonValue): JsonObject {
  if (format === null) return {};
  const { type = null, schema = null } = isJsonObject(format) ? format : {};
  if (type !== "json_schema" || !isJsonObject(schema))
    throw invalidField("params.output_config.format", 'must be {"type":"json_schema","schema":{…}}');
  return { response_format: { type, json_schema: { name: "answer", schema, strict: true } } };
}

function betaHeader(betas: JsonValue | undefined, reading: Reading): Record<string, string> {
  if (betas === undefined) return {};
  const names = (Array.isArray(betas) ? betas : []).map(textOf);
  if (names.length > 64 || !names.every((name) => /^[\w.-]{1,128}$/.test(name)))
    throw new ToolgateError(
      "INVALID_REQUEST",
      "anthropic-beta: must be names of at most 128 letters, digits and -",
    );
  const sent = names.filter((name) => {
    const kind = name.replace(/-\d{4}-\d{2}-\d{2}$/, "");
    return !Object.hasOwn(BETAS, kind) || fateOf(BETAS, kind, `betas.${kind}`, reading) === "passed";
  });
  return sent.length === 0 ? {} : { "anthropic-beta": sent.join(",") };
}

function without(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}
