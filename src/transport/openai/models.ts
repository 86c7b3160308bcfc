import { ToolgateError } from "../../domain/core/errors.ts";
import type { ChatModel } from "../../domain/tools/chat.ts";
import { formatTokenRate } from "../../domain/tools/token-rate.ts";

/** OpenAI API, "List models". */
export function modelList(models: readonly ChatModel[]): object {
  return { object: "list", data: models.map(modelJson) };
}

/**
 * OpenAI API, "Retrieve model".
 * @param id percent-encoded
 * @throws ToolgateError NOT_FOUND
 */
export function modelById(models: readonly ChatModel[], id: string): object {
  const name = decoded(id);
  const model = models.find((one) => one.id === name);
  if (model) return modelJson(model);
  throw new ToolgateError("NOT_FOUND", "no such model; GET /openai/v1/models lists them");
}

/** The API's members, with limits in tokens and prices in USD per million tokens. */
function modelJson(model: ChatModel): object {
  const { id, contextLength, inputRate } = model;
  return {
    id,
    object: "model",
    created: 0,
    owned_by: "toolgate",
    context_length: contextLength,
    input_usd_per_million: formatTokenRate(inputRate),
    ...(model.dimensions === undefined ? answerTerms(model) : { dimensions: model.dimensions }),
  };
}

function answerTerms({ maxOutputTokens, outputRate, cachedInputRate, reasoningRate }: ChatModel): object {
  return {
    max_output_tokens: maxOutputTokens,
    output_usd_per_million: formatTokenRate(outputRate),
    ...(cachedInputRate !== undefined && { cached_input_usd_per_million: formatTokenRate(cachedInputRate) }),
    ...(reasoningRate !== undefined && { reasoning_usd_per_million: formatTokenRate(reasoningRate) }),
  };
}

function decoded(id: string): string | undefined {
  try {
    return decodeURIComponent(id);
  } catch {
    return undefined;
  }
}
