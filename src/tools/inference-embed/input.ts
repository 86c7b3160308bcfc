import { z } from "zod";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import { tokensOf } from "../inference-chat/price.ts";
import { requireFewItems } from "../explain-issues.ts";
import { type ChatModel, type EmbeddingInput, priceOfTokens } from "../../domain/tools/chat.ts";

/** As the OpenAI API. */
const MAX_INPUTS = 2_048;
/** Marks that the server adds to each input. */
const TOKENS_PER_INPUT = 8;
/** Above the average of today's vocabularies for ordinary text. */
const BYTES_PER_TOKEN_AT_BEST = 8;

const text = z.string().min(1).max(1_048_576);
export const texts = z.array(text).min(1).max(MAX_INPUTS);
const tokens = z.array(z.int().min(0)).min(1);
const tokenLists = z.array(tokens).min(1).max(MAX_INPUTS);

/** Reads one or more inputs, text or tokens, by the first. @throws ToolgateError INVALID_REQUEST */
export function readInput(value: unknown): EmbeddingInput {
  const list = typeof value === "string" || isNumbers(value) ? [value] : value;
  if (Array.isArray(list)) requireFewItems({ input: list }, { input: MAX_INPUTS });
  const isTokens = Array.isArray(list) && Array.isArray(list[0]);
  const parsed = isTokens ? tokenLists.safeParse(list) : texts.safeParse(list);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const at = (issue?.path ?? []).map((one) => `[${String(one)}]`).join("");
  throw new ToolgateError(
    "INVALID_REQUEST",
    `params.input${list === value ? at : ""}: must be a text that is not empty, up to ` +
      `${MAX_INPUTS} of them, or the tokens of each as whole numbers`,
  );
}

function isNumbers(value: unknown): boolean {
  return Array.isArray(value) && typeof value[0] === "number";
}

/** Rejects, before a quote, what the model certainly refuses. @param maxNumbers of the whole answer */
export function requireInputFits(
  model: ChatModel,
  input: EmbeddingInput,
  dimensions: number | undefined,
  maxNumbers: number,
): void {
  const { id, contextLength, dimensions: own = 0 } = model;
  if (dimensions !== undefined && dimensions > own)
    throw invalidField("params.dimensions", `must be at most ${own} for ${id}`);
  const most = Math.floor(maxNumbers / (dimensions ?? own));
  if (input.length > most)
    throw invalidField("params.input", `has ${input.length} inputs; send at most ${most} at once to ${id}`);
  const long = input.findIndex((one) => sizeOf(one, BYTES_PER_TOKEN_AT_BEST) > contextLength);
  if (long >= 0)
    throw invalidField(`params.input[${long}]`, `exceeds the ${contextLength} tokens of ${id}; shorten it`);
}

export function ceilingOfInput(model: ChatModel, input: EmbeddingInput): MicroUsd {
  const tokens = input.reduce((sum, one) => sum + TOKENS_PER_INPUT + sizeOf(one, model.bytesPerToken), 0);
  return priceOfTokens({ tokens, rate: model.inputRate });
}

/** Returns the tokens of inputs that the server did not count: of texts a low estimate. */
export function estimatedTokens(model: ChatModel, input: EmbeddingInput): number {
  const sizes = input.map((one) => (typeof one === "string" ? tokensOf(one.length, model) : one.length));
  return sizes.reduce((sum, tokens) => sum + tokens, 0);
}

/** Tokens. */
function sizeOf(input: EmbeddingInput[number], bytesPerToken: number): number {
  return typeof input === "string" ? Math.ceil(Buffer.byteLength(input) / bytesPerToken) : input.length;
}
