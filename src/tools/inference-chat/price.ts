import {
  countedTokens,
  type ChatCompletion,
  type ChatMessage,
  type ChatModel,
  type ChatOptions,
  type ChatUsage,
  priceOfTokens,
  type ReportedUsage,
  type TokenRate,
} from "../../domain/tools/chat.ts";
import { isJsonObject } from "../../domain/core/json.ts";
import type { MicroUsd } from "../../domain/core/money.ts";

export interface Conversation {
  readonly messages: readonly Pick<ChatMessage, "content">[];
  /** What the model gets, as it was sent. Default: {@link messages}. */
  readonly sent?: readonly object[];
  /** Most tokens that a chat template adds. */
  readonly extraTokens?: number;
  /** Most tokens of the prompt that are images. */
  readonly imageTokens?: number;
  readonly maxTokens: number;
}

/** Returns the most that a completion costs: bounds of its tokens, at the model's highest rates. */
export function ceilingOf(model: ChatModel, conversation: Conversation): MicroUsd {
  const { messages, extraTokens = 0, imageTokens = 0, maxTokens } = conversation;
  const prompt = pricedPromptTokens(messages, model) + extraTokens + imageTokens;
  return priceOfTokens(
    { tokens: prompt, rate: highestOf(model.inputRate, model.cacheWriteRate, model.cacheWriteHourRate) },
    { tokens: maxTokens, rate: highestOf(model.outputRate, model.reasoningRate) },
  );
}

/** Returns the cost of the tokens that are charged. May exceed the ceiling. */
export function chargeFor(model: ChatModel, used: ChatUsage): MicroUsd {
  return priceOfTokens(...countedTokens(model, used));
}

/**
 * Returns the tokens that are charged: those that the server counted, and low estimates of the others. What
 * a cut answer does not say is taken at its least: who leaves half way pays no more than for the whole.
 */
export function usedTokens(
  model: ChatModel,
  conversation: Conversation,
  completion: Pick<ChatCompletion, "content" | "usage" | "delivered">,
): ChatUsage {
  const used = knownTokens(model, conversation, completion);
  return completion.delivered?.isCut ? atLeastRates(model, used) : used;
}

/** The server's last count has the cached and the reasoning tokens, which may cost less. */
function atLeastRates(
  { inputRate, outputRate, cachedInputRate = inputRate, reasoningRate = outputRate }: ChatModel,
  used: ChatUsage,
): ChatUsage {
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens = 0, reasoningTokens } = used;
  const mayBeCached = cachedTokens === undefined && cachedInputRate < inputRate;
  const mayBeThought = reasoningTokens === undefined && reasoningRate < outputRate;
  return {
    ...used,
    ...(mayBeCached && { cachedTokens: promptTokens - cacheWriteTokens, isEstimated: true }),
    ...(mayBeThought && { reasoningTokens: completionTokens, isEstimated: true }),
  };
}

function knownTokens(
  model: ChatModel,
  conversation: Conversation,
  { content, usage, delivered }: Pick<ChatCompletion, "content" | "usage" | "delivered">,
): ChatUsage {
  const { characters, chunks = Infinity, isCut = false } = delivered ?? { characters: content.length };
  const written = Math.min(tokensOf(characters, model), chunks, conversation.maxTokens);
  const { promptTokens = 0, completionTokens = 0, totalTokens = 0, isBehind = false } = usage ?? {};
  const counted = promptTokens + completionTokens;
  if (counted > 0 && counted === totalTokens && (!isBehind || written <= completionTokens))
    return { ...usage, promptTokens, completionTokens, totalTokens };
  if (counted === 0 && totalTokens > 0) {
    // What was not written is taken for the prompt, which costs less.
    const completion = Math.min(written, totalTokens);
    return estimated(usage, totalTokens - completion, completion);
  }
  const output = isBehind ? Math.max(completionTokens, written) : completionTokens || written;
  const estimate = isCut ? leastPrompt : estimatedPrompt;
  return estimated(usage, promptTokens || estimate(model, conversation), output);
}

/** Returns what says that an answer goes on beyond its limit, which uses up what the call may cost. */
export function limitCheck(model: ChatModel, maxTokens: number): NonNullable<ChatOptions["isUsedUp"]> {
  return ({ characters, chunks = Infinity }, usage) => {
    const written = Math.min(tokensOf(characters, model), chunks);
    return Math.max(written, usage?.completionTokens ?? 0) > maxTokens;
  };
}

function estimated(usage: ReportedUsage | null, promptTokens: number, completionTokens: number): ChatUsage {
  const totalTokens = promptTokens + completionTokens;
  return { ...usage, promptTokens, completionTokens, totalTokens, isEstimated: true };
}

/** English prose has fewer characters a token; what is estimated is then less than what it had. */
const CHARACTERS_PER_TOKEN = 5;
/** Role and marks, in all chat templates. */
const LEAST_TOKENS_PER_MESSAGE = 4;

/** Returns a low estimate of the tokens of a text. */
export function tokensOf(characters: number, { bytesPerToken }: ChatModel): number {
  return Math.ceil(characters / Math.max(CHARACTERS_PER_TOKEN, bytesPerToken));
}

export function estimatedPrompt(model: ChatModel, { messages, imageTokens = 0 }: Conversation): number {
  const characters = messages.reduce((sum, { content }) => sum + content.length, 0);
  return messages.length * LEAST_TOKENS_PER_MESSAGE + tokensOf(characters, model) + imageTokens;
}

/** Members that every chat template has, whatever it makes of those around them. Images may be tiny. */
const TEXTS = new Set(["content", "text", "description", "arguments"]);

function leastPrompt({ bytesPerToken }: ChatModel, { messages, sent = messages }: Conversation): number {
  const perToken = Math.max(BYTES_PER_TOKEN_AT_BEST, bytesPerToken);
  return sent.reduce((sum, one) => sum + 1 + Math.floor(leastCharacters(one) / perToken), 0);
}

function leastCharacters(value: unknown, isText = false): number {
  if (typeof value === "string") return isText ? changesIn(value) : 0;
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + leastCharacters(one), 0);
  if (!isJsonObject(value)) return 0;
  return Object.entries(value).reduce((sum, [name, one]) => sum + leastCharacters(one, TEXTS.has(name)), 0);
}

/** A token may be a run of spaces or signs. */
function changesIn(text: string): number {
  let changes = 0;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) !== text.charCodeAt(at - 1)) changes++;
  return changes;
}

function highestOf(rate: TokenRate, ...others: readonly (TokenRate | undefined)[]): TokenRate {
  return others.reduce<TokenRate>((highest, other = 0n) => (other > highest ? other : highest), rate);
}

type Content = Pick<ChatMessage, "content">;

/** Start and end marks, a default system prompt and the opening of the answer, added by the chat template. */
const TOKENS_PER_CONVERSATION = 64;
/** Role and end-of-turn marks. */
const TOKENS_PER_MESSAGE = 8;
/** Above the average of today's vocabularies for ordinary text. */
const BYTES_PER_TOKEN_AT_BEST = 8;

/** Returns an upper bound of a prompt's tokens: a byte-level vocabulary has at most one per UTF-8 byte. */
function pricedPromptTokens(messages: readonly Content[], model: ChatModel): number {
  return (
    TOKENS_PER_CONVERSATION +
    messages.length * TOKENS_PER_MESSAGE +
    Math.ceil(contentBytes(messages) / model.bytesPerToken)
  );
}

/** Returns a lower bound, to reject conversations that cannot fit before payment. */
export function minPromptTokens(messages: readonly Content[]): number {
  return messages.length + Math.ceil(contentBytes(messages) / BYTES_PER_TOKEN_AT_BEST);
}

function contentBytes(messages: readonly Content[]): number {
  return messages.reduce((sum, message) => sum + Buffer.byteLength(message.content, "utf8"), 0);
}
