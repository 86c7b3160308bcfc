import {
  countedTokens,
  type ChatCompletion,
  type ChatMessage,
  type ChatModel,
  priceOfTokens,
  type TokenRate,
} from "../../domain/tools/chat.ts";
import type { MicroUsd } from "../../domain/core/money.ts";

export interface Conversation {
  readonly messages: readonly Pick<ChatMessage, "content">[];
  /** Tokens of the prompt beside its messages. */
  readonly extraTokens?: number;
  readonly maxTokens: number;
}

/** Returns the most that a completion costs: bounds of its tokens, at the model's highest rates. */
export function ceilingOf(model: ChatModel, conversation: Conversation): MicroUsd {
  const { messages, extraTokens = 0, maxTokens } = conversation;
  return priceOfTokens(
    { tokens: pricedPromptTokens(messages, model) + extraTokens, rate: model.inputRate },
    { tokens: maxTokens, rate: highestOutputRate(model) },
  );
}

/** Returns the cost by the counted tokens, or by the bytes of the text. May exceed the ceiling. */
export function chargeFor(
  model: ChatModel,
  conversation: Conversation,
  { content, usage, whole }: Pick<ChatCompletion, "content" | "usage" | "whole">,
): MicroUsd {
  if (usage && usage.totalTokens > 0) return priceOfTokens(...countedTokens(model, usage));
  const delivered = Math.ceil((whole?.textBytes ?? Buffer.byteLength(content)) / model.bytesPerToken);
  return ceilingOf(model, { ...conversation, maxTokens: Math.min(delivered, conversation.maxTokens) });
}

function highestOutputRate({ outputRate, reasoningRate = 0n }: ChatModel): TokenRate {
  return reasoningRate > outputRate ? reasoningRate : outputRate;
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
