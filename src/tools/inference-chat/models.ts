import { invalidField } from "../../domain/core/errors.ts";
import type { ChatModel } from "../../domain/tools/chat.ts";
import { closestFirst } from "../closest-names.ts";
import { type Conversation, minPromptTokens } from "./price.ts";

const MAX_MODELS_IN_ERROR = 5;
const MAX_MODELS_NAMED = 50;

/** Returns a function that finds a model by its id, or throws INVALID_REQUEST. */
export function finder(models: readonly ChatModel[]): (id: string) => ChatModel {
  const byId = new Map(models.map((model) => [model.id, model]));
  return (id) => {
    const model = byId.get(id);
    if (model) return model;
    throw invalidField("params.model", unknownModelMessage(id, [...byId.keys()]));
  };
}

/** One line per model, of the first ones. */
export function modelLines(models: readonly ChatModel[], lineOf: (model: ChatModel) => string): string {
  const lines = models.slice(0, MAX_MODELS_NAMED).map(lineOf).join("\n");
  const others = models.length - MAX_MODELS_NAMED;
  return others > 0 ? `${lines} and ${others} more` : lines;
}

/** Suggests the closest names and where to find the others. */
function unknownModelMessage(wanted: string, names: readonly string[]): string {
  const named = closestFirst(wanted, names).slice(0, MAX_MODELS_IN_ERROR).join(", ");
  const others = names.length - MAX_MODELS_IN_ERROR;
  if (others <= 0) return `is not offered; there are ${named}`;
  return `is not offered; the closest are ${named}; GET /mcp/capabilities lists ${others} more`;
}

/** A prompt and the limit of its answer, as they were sent. */
interface SentCall extends Pick<Conversation, "messages"> {
  /** Undefined: the model's. */
  readonly limit: { readonly name: string; readonly tokens: number } | undefined;
}

/** Rejects, before a quote, parameters that the model certainly refuses. */
export function requireFits({ messages, limit }: SentCall, model: ChatModel): void {
  const { contextLength, maxOutputTokens } = model;
  if (limit && limit.tokens > maxOutputTokens)
    throw invalidField(`params.${limit.name}`, `must be at most ${maxOutputTokens} for ${model.id}`);
  const prompt = minPromptTokens(messages);
  const answer = limit?.tokens ?? maxOutputTokens;
  if (prompt + answer <= contextLength) return;
  throw invalidField(
    "params.messages",
    `the prompt (at least ${prompt} tokens) and the answer (${answer} tokens) exceed the ` +
      `${contextLength} tokens of ${model.id}; shorten the messages or lower ${limit?.name ?? "max_tokens"}`,
  );
}
