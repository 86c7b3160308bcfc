import type { TokenRate } from "./token-rate.ts";

export const CHAT_ROLES = ["system", "user", "assistant"] as const;

/** A message of a conversation (specification 2.1). */
export interface ChatMessage {
  readonly role: (typeof CHAT_ROLES)[number];
  readonly content: string;
}

export interface ChatModel {
  readonly id: string;
  readonly inputRate: TokenRate;
  readonly outputRate: TokenRate;
  /** Of prompt tokens that the server had in its cache, at most {@link inputRate}, the default. */
  readonly cachedInputRate?: TokenRate | undefined;
  /** Of tokens of a completion that are reasoning. Default: {@link outputRate}. */
  readonly reasoningRate?: TokenRate | undefined;
  /** Maximum tokens of prompt and completion together. */
  readonly contextLength: number;
  /** Maximum tokens of a completion, and the default limit. */
  readonly maxOutputTokens: number;
  /** Bytes of text priced as one token; 1 is an upper bound for byte-level vocabularies. */
  readonly bytesPerToken: number;
}

export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly maxTokens: number;
  readonly temperature: number | undefined;
}

/** Tokens as counted by the server. */
export interface ChatUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly totalTokens: number;
  /** Those of the prompt that came from the server's cache, at most all; undefined if not reported. */
  readonly cachedTokens?: number | undefined;
  /** Those of the completion that are reasoning, at most all; undefined if not reported. */
  readonly reasoningTokens?: number | undefined;
}

export interface ChatCompletion {
  readonly content: string;
  /** E.g. "stop" or "length"; "timeout" after a time limit; null if the server does not say. */
  readonly finishReason: string | null;
  /** Null if the server does not count. */
  readonly usage: ChatUsage | null;
}

export interface ChatOptions {
  readonly signal: AbortSignal;
  /** Faults count against this account first. */
  readonly accountId: string;
  /** Sent to the server. */
  readonly idempotencyKey: string | undefined;
  /** Reports the number of chunks received. Not called if the server does not stream. */
  readonly onChunk?: ((chunks: number) => void) | undefined;
}

/** The inference backend. */
export interface ChatModels {
  /** Models for sale. Replaced when they change; empty until a server has answered. */
  readonly models: readonly ChatModel[];
  /**
   * Completes a conversation with one of {@link models}.
   * @throws ToolgateError TOOL_FAILED, or UNAVAILABLE when the server is too busy
   */
  complete(request: ChatRequest, options: ChatOptions): Promise<ChatCompletion>;
}
