import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { type JsonObject, isJsonObject, type JsonValue, objectsOf } from "../../domain/core/json.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type {
  ChatCompletion,
  ChatListener,
  ChatModel,
  ChatModels,
  ChatUsage,
  PassedRequest,
} from "../../domain/tools/chat.ts";
import type { ResultSink, ToolContext } from "../../domain/tools/tool.ts";
import { serverDialect } from "../../dialects/index.ts";
import { keptMembers } from "../../dialects/members.ts";
import type { Charge } from "../built-in.ts";
import { requireFits } from "./models.ts";
import { answerOf, chunkOf, headOf, type AnswerHead } from "./openai-answer.ts";
import { requireNoServerFetch } from "./server-fetches.ts";
import { ceilingOf, chargeFor, estimatedPrompt, limitCheck, usedTokens } from "./price.ts";
import type { PrepareFor } from "./model-tool.ts";
import { oncePerObject } from "../once-per-object.ts";
import { explainIssues, requireFewItems } from "../explain-issues.ts";
import {
  CACHE_CONTROL,
  CHAT_MEMBERS,
  chatBody,
  ITEM_LIMITS,
  OF_CLIENTS,
  OWN_MEMBERS,
} from "./openai-schema.ts";

/** A chat whose body was checked. */
interface PreparedChat {
  readonly price: MicroUsd;
  /** Estimate. */
  readonly promptTokens: number;
  /** Asks the model's server, and meters. @param listener undefined: the answer is only returned */
  readonly run: (context: ToolContext, listener: ChatListener | undefined) => Promise<CountedChat>;
}

interface CountedChat {
  readonly completion: ChatCompletion;
  readonly used: ChatUsage;
}

/** @param body of chat completions @param passed the request in the API of the model's servers */
export type PrepareChat = (body: JsonObject, model: ChatModel, passed?: PassedRequest) => PreparedChat;

/** Prepares chat completions of the OpenAI API: body, answer, and chunks if the caller takes them. */
export function openAiChat(modelOf: (id: string) => ChatModel, prepare: PrepareChat): PrepareFor {
  return (body, id) => {
    if (id === undefined) throw invalidField("params.model", "is required, a string");
    const model = modelOf(id);
    const notes = requireConvertible(body, model);
    const { price, promptTokens, run } = prepare(body, model);
    return {
      price,
      promptTokens,
      async run(context) {
        const head = headOf(context.runId ?? "", model.id);
        const { output } = context;
        const { completion, used } = await run(context, output && listenerOf(head, output));
        const answer = answerOf(head, completion, used);
        return notes.length > 0 ? { ...answer, notes } : answer;
      },
    };
  };
}

/** Returns what servers of another API do not get. @throws ToolgateError INVALID_REQUEST */
function requireConvertible(body: JsonObject, { api }: ChatModel): string[] {
  const members = api && serverDialect(api).chatMembers;
  if (!members) return [];
  const reading = { isSame: false, isOpen: true, notes: new Set<string>() };
  keptMembers(body, members, reading);
  return [...reading.notes];
}

/** Returns what checks chats, prices them and asks the model's server. */
export function chatPreparer(inference: ChatModels, charge: Charge): PrepareChat {
  const strict = oncePerObject((body) => readChatBody(body, false));
  const open = oncePerObject((body) => readChatBody(body, true));
  const refuseServerFetch = oncePerObject(requireNoServerFetch);
  return (body, model, passed) => {
    const chat = (model.passesUnknown ? open : strict)(body);
    const { messages, temperature, limit, more, prompt, sent, images } = chat;
    if (images > 0 && model.imageTokens === undefined)
      throw invalidField("params.messages", `has images, which ${model.id} does not take; send text`);
    if (!model.passesUrls) refuseServerFetch(body);
    requireFits({ messages: prompt, limit }, model);
    const maxTokens = limit?.tokens ?? model.maxOutputTokens;
    const imageTokens = images * (model.imageTokens ?? 0);
    const conversation = { messages: prompt, sent, extraTokens: chat.extraTokens, imageTokens, maxTokens };
    const isUsedUp = limitCheck(model, maxTokens);
    return {
      price: ceilingOf(model, conversation),
      promptTokens: estimatedPrompt(model, conversation),
      async run({ caller, signal, idempotencyKey, attached, meter, noteModel, span }, listener) {
        const { accountId } = caller;
        const request = { model: model.id, messages, maxTokens, temperature, more, passed };
        const options = { signal, accountId, idempotencyKey, attached, listener, span, isUsedUp };
        noteModel?.({ model: model.id });
        const completion = await inference.complete(request, options);
        noteModel?.({ model: model.id, cost: completion.cost });
        const used = usedTokens(model, conversation, completion);
        if (charge === "used") meter?.(chargeFor(model, used));
        return { completion, used };
      },
    };
  };
}

function listenerOf(head: AnswerHead, output: ResultSink): ChatListener {
  let role: JsonObject = { role: "assistant" };
  return {
    take({ delta, ...others }) {
      const chunk = chunkOf(head, { delta: { ...role, ...delta }, ...others });
      role = {};
      return output.write(chunk);
    },
    closed: output.closed,
  };
}

/** A valid request body (OpenAI API, "Create chat completion"). */
interface OpenAiChat {
  readonly messages: readonly JsonObject[];
  readonly temperature: number | undefined;
  /** The limit and its name; undefined: the model's. */
  readonly limit: { readonly name: string; readonly tokens: number } | undefined;
  /** Members that are passed on. */
  readonly more: JsonObject;
  /** The text of the prompt, by which it is priced. */
  readonly prompt: readonly { readonly content: string }[];
  /** Messages and tools. */
  readonly sent: readonly JsonObject[];
  /** Number of images in the prompt. */
  readonly images: number;
  /** Tokens of the prompt that are neither text nor images. */
  readonly extraTokens: number;
}

const NO_MEMBERS: ReadonlySet<string> = new Set();
const STRICT = chatBody(false);
const OPEN = chatBody(true);

/** What chat templates say about tools at most, beside the tools themselves. */
const TOKENS_FOR_TOOLS = 512;

/**
 * @param open whether the server gets what the gateway does not know
 * @throws ToolgateError INVALID_REQUEST at `params.messages[0].content`
 */
function readChatBody(given: JsonObject, open: boolean): OpenAiChat {
  const body = without(given, NO_MEMBERS);
  requireFewItems(body, ITEM_LIMITS);
  const parsed = (open ? OPEN : STRICT).safeParse(body, { reportInput: true });
  if (!parsed.success)
    throw new ToolgateError("INVALID_REQUEST", explainIssues(parsed.error.issues, CHAT_MEMBERS));
  const { temperature, max_tokens, max_completion_tokens } = parsed.data;
  const messages = objectsOf(body["messages"]).map((message) => sentMessage(message, open));
  const images = messages.flatMap(({ content }) => objectsOf(content)).filter(isImage).length;
  const { tools = [], functions = [], response_format: format = null } = body;
  const called = [...objectsOf(tools), ...objectsOf(functions)];
  const instructions = [tools, functions, format].filter(isInstruction);
  return {
    messages,
    temperature: temperature ?? undefined,
    limit: limitOf({ max_tokens, max_completion_tokens }),
    more: {
      ...without(body, OWN_MEMBERS),
      ...(Array.isArray(body["tools"]) && { tools: sentItems(body["tools"], open) }),
    },
    prompt: [
      ...messages.map(pricedText),
      ...instructions.map((value) => ({ content: JSON.stringify(value) })),
    ],
    sent: [...messages, ...called],
    images,
    extraTokens: called.length > 0 ? TOKENS_FOR_TOOLS : 0,
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

/** A message as it came, nulls included: strict servers miss them. */
function sentMessage(message: JsonObject, open: boolean): JsonObject {
  const own = Object.entries(message).filter(([name]) => !OF_CLIENTS.has(name));
  const sent = sentObject(Object.fromEntries(own), open);
  const { content } = sent;
  if (!Array.isArray(content)) return sent;
  return { ...sent, content: sentItems(content, open) };
}

function sentObject(object: JsonObject, open: boolean): JsonObject {
  if (open || !(CACHE_CONTROL in object)) return object;
  const { [CACHE_CONTROL]: _, ...others } = object;
  return others;
}

function sentItems(items: readonly JsonValue[], open: boolean): JsonValue[] {
  return items.map((item) => (isJsonObject(item) ? sentObject(item, open) : item));
}

function isInstruction(value: JsonValue): boolean {
  return value !== null && (!Array.isArray(value) || value.length > 0);
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
