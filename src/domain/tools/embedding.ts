import type { MicroUsd } from "../core/money.ts";
import type { ChatModel, ChatOptions } from "./chat.ts";

/** Texts, or texts as tokens of the model. */
export type EmbeddingInput = readonly string[] | readonly (readonly number[])[];

export interface EmbeddingRequest {
  readonly model: string;
  readonly input: EmbeddingInput;
  /** Numbers of each vector; undefined: the model's own. */
  readonly dimensions: number | undefined;
}

export interface Embeddings {
  /** One for each input, in the same order, of equal length. */
  readonly vectors: readonly Float32Array[];
  /** Tokens as counted by the server; undefined if it does not count. */
  readonly promptTokens: number | undefined;
  /** As the cost of a ChatCompletion. */
  readonly cost?: MicroUsd | undefined;
}

/** The inference backend of embeddings. */
export interface EmbeddingModels {
  /** Models for sale; those with `dimensions` make embeddings. */
  readonly models: readonly ChatModel[];
  /**
   * Computes the vectors of texts with one of {@link models}.
   * @throws ToolgateError TOOL_FAILED, or UNAVAILABLE when the server is too busy
   */
  embed(
    request: EmbeddingRequest,
    options: Pick<ChatOptions, "signal" | "accountId" | "idempotencyKey" | "span">,
  ): Promise<Embeddings>;
}
