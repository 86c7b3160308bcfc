import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";
import type { ChatModel } from "../../domain/tools/chat.ts";
import { explainIssues } from "../explain-issues.ts";
import { CHAT_MEMBERS, chatBody, DROPPED_FROM_MESSAGES, OWN_MEMBERS } from "./openai-schema.ts";

/** A valid request body (OpenAI API, "Create chat completion"). */
export interface OpenAiChat {
  readonly messages: readonly JsonObject[];
  readonly temperature: number | undefined;
  /** The limit and its name; undefined: the model's. */
  readonly limit: { readonly name: string; readonly tokens: number } | undefined;
  /** Members that are passed on. */
  readonly more: JsonObject;
  /** The text of the prompt, by which it is priced. */
  readonly prompt: readonly { readonly content: string }[];
  /** Tokens of the prompt that are no text. */
  readonly extraTokens: number;
}

const STRICT = chatBody(false);
const OPEN = chatBody(true);

/** What chat templates say about tools at most, beside the tools themselves. */
const TOKENS_FOR_TOOLS = 512;

/**
 * Reads a request body without `stream` and `stream_options`.
 * @throws ToolgateError INVALID_REQUEST naming the member as `params.messages[0].content`
 */
export function readChatBody(body: JsonObject, model: ChatModel): OpenAiChat {
  const parsed = (model.passesUnknown ? OPEN : STRICT).safeParse(body, { reportInput: true });
  if (!parsed.success)
    throw new ToolgateError("INVALID_REQUEST", explainIssues(parsed.error.issues, CHAT_MEMBERS));
  const { temperature, max_tokens, max_completion_tokens } = parsed.data;
  const messages = listOf(body["messages"]).map((message) => without(message, DROPPED_FROM_MESSAGES));
  const images = messages.flatMap(({ content }) => listOf(content)).filter(isImage).length;
  if (images > 0 && model.imageTokens === undefined)
    throw invalidField("params.messages", `has images, which ${model.id} does not take; send text`);
  const { tools = [], response_format: format = null } = body;
  const instructions = [tools, format].filter((value) => value !== null && listOf(value).length !== 0);
  return {
    messages,
    temperature: temperature ?? undefined,
    limit: limitOf({ max_tokens, max_completion_tokens }),
    more: without(body, OWN_MEMBERS),
    prompt: [
      ...messages.map(pricedText),
      ...instructions.map((value) => ({ content: JSON.stringify(value) })),
    ],
    extraTokens: images * (model.imageTokens ?? 0) + (listOf(tools).length > 0 ? TOKENS_FOR_TOOLS : 0),
  };
}

function limitOf(given: Readonly<Record<string, number | null | undefined>>): OpenAiChat["limit"] {
  const [first, second] = Object.entries(given).flatMap(([name, tokens]) =>
    tokens ? [{ name, tokens }] : [],
  );
  if (second && second.tokens !== first?.tokens)
    throw invalidField(`params.${second.name}`, `differs from ${first?.name}; send one of them`);
  return second ?? first;
}

/** Null stands for a default. */
function without(object: JsonObject, names: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(
    Object.entries(object).filter(([name, value]) => value !== null && !names.has(name)),
  );
}

function pricedText(message: JsonObject): { content: string } {
  const { content, ...others } = message;
  if (typeof content === "string" && Object.keys(others).length === 1) return { content };
  const parts = Array.isArray(content) ? content.filter((part) => !isImage(part)) : content;
  return { content: JSON.stringify({ ...others, content: parts ?? null }) };
}

function isImage(part: JsonValue): boolean {
  return isJsonObject(part) && part["type"] === "image_url";
}

function listOf(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
