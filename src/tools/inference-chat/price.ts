import {
  countedTokens,
  type ChatCompletion,
  type ChatMessage,
  type ChatModel,
} from "../../domain/tools/chat.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import { priceOfTokens, type TokenRate } from "../../domain/tools/token-rate.ts";
import { pricedPromptTokens } from "./prompt-tokens.ts";

/** A conversation and the limit of its answer. */
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

/**
 * Returns what a completion costs by the tokens that its server counted. Without a count, the text that was
 * delivered is priced like a prompt, by its bytes. May exceed the ceiling.
 */
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
