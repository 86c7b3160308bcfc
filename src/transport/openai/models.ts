import { ToolgateError } from "../../domain/core/errors.ts";
import { decodedId } from "../model-api/model-id.ts";
import { type ChatModel, type ModelAlias, formatTokenRate } from "../../domain/tools/chat.ts";

export interface Listed {
  readonly models: readonly ChatModel[];
  readonly aliases: readonly ModelAlias[];
}

/** OpenAI API, "List models". */
export function modelList({ models, aliases }: Listed): object {
  return { object: "list", data: [...aliases.map(aliasJson), ...models.map(modelJson)] };
}

/** OpenAI API, "Retrieve model". @param id percent-encoded. @throws ToolgateError NOT_FOUND */
export function modelById({ models, aliases }: Listed, id: string): object {
  const name = decodedId(id);
  const alias = aliases.find((one) => one.id === name);
  if (alias) return aliasJson(alias);
  const model = models.find((one) => one.id === name);
  if (model) return modelJson(model);
  throw new ToolgateError("NOT_FOUND", "no such model; GET /openai/v1/models lists them");
}

/** The API's members, with the models that the alias stands for. */
function aliasJson({ id, models, by }: ModelAlias): object {
  return { ...headOf(id), alias_of: models, chosen_by: by };
}

function headOf(id: string): object {
  return { id, object: "model", created: 0, owned_by: "toolgate" };
}

/** The API's members, with limits in tokens and prices in USD per million tokens. */
function modelJson(model: ChatModel): object {
  const { id, contextLength, inputRate } = model;
  return {
    ...headOf(id),
    context_length: contextLength,
    input_usd_per_million: formatTokenRate(inputRate),
    ...(model.dimensions === undefined ? answerTerms(model) : { dimensions: model.dimensions }),
  };
}

function answerTerms({ maxOutputTokens, outputRate, ...rates }: ChatModel): object {
  const { cachedInputRate, cacheWriteRate, cacheWriteHourRate, reasoningRate } = rates;
  return {
    max_output_tokens: maxOutputTokens,
    output_usd_per_million: formatTokenRate(outputRate),
    ...(cachedInputRate !== undefined && { cached_input_usd_per_million: formatTokenRate(cachedInputRate) }),
    ...(cacheWriteRate !== undefined && { cache_write_usd_per_million: formatTokenRate(cacheWriteRate) }),
    ...(cacheWriteHourRate !== undefined && {
      cache_write_1h_usd_per_million: formatTokenRate(cacheWriteHourRate),
    }),
    ...(reasoningRate !== undefined && { reasoning_usd_per_million: formatTokenRate(reasoningRate) }),
  };
}
