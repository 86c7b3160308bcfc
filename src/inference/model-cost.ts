import {
  countedTokens,
  type ChatCompletion,
  type Embeddings,
  priceOfTokens,
  type TokenRates,
} from "../domain/tools/chat.ts";
import type { MicroUsd } from "../domain/core/money.ts";

/** Prices of a server. */
export type ModelCost = TokenRates;

/** Returns what a server charges for an answer; undefined where prices or the count are unknown. */
export function costOfAnswer(
  cost: ModelCost | undefined,
  answer: ChatCompletion | Embeddings,
): MicroUsd | undefined {
  if (!cost) return undefined;
  if ("vectors" in answer)
    return answer.promptTokens === undefined
      ? undefined
      : priceOfTokens({ tokens: answer.promptTokens, rate: cost.inputRate });
  const { promptTokens, completionTokens, totalTokens = 0, ...details } = answer.usage ?? {};
  return promptTokens !== undefined && completionTokens !== undefined && totalTokens > 0
    ? priceOfTokens(...countedTokens(cost, { promptTokens, completionTokens, totalTokens, ...details }))
    : undefined;
}
