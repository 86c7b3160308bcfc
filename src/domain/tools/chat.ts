import type { TokenRate } from "./token-rate.ts";

/** Who may speak in a conversation. */
export const CHAT_ROLES = ["system", "user", "assistant"] as const;

/** One turn of a conversation (specification 2.1). */
export interface ChatMessage {
  readonly role: (typeof CHAT_ROLES)[number];
  readonly content: string;
}

/** A model that is for sale. */
export interface ChatModel {
  readonly id: string;
  readonly inputRate: TokenRate;
  readonly outputRate: TokenRate;
  /** Tokens that the prompt and the answer may have together. */
  readonly contextLength: number;
  /** Tokens that an answer may have, and has at most when the caller names no limit. */
  readonly maxOutputTokens: number;
  /** Bytes of text that count as one token when the prompt is priced; 1 is a sure upper bound for byte-level vocabularies. */
  readonly bytesPerToken: number;
}

/** What a model is asked. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly maxTokens: number;
  readonly temperature: number | undefined;
}

/** Tokens as the model's server counted them. */
export interface ChatUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly totalTokens: number;
}

/** What a model answered. */
export interface ChatCompletion {
  readonly content: string;
  /** Why the answer ended, e.g. "stop" or "length"; "timeout" where a time limit ended it; null where the server does not say. */
  readonly finishReason: string | null;
  /** Null where the server does not count. */
  readonly usage: ChatUsage | null;
}

/** What is known of the call besides its content. */
export interface ChatOptions {
  readonly signal: AbortSignal;
  /** Whose call it is: what goes wrong with it is held against this account first. */
  readonly accountId: string;
  /** Sent to the model's server. */
  readonly idempotencyKey: string | undefined;
  /** Hears how many pieces of the answer have come, as they come; never where the server answers at once. */
  readonly onChunk?: ((chunks: number) => void) | undefined;
}

/** Port to whoever runs the models. */
export interface ChatModels {
  /** What is for sale at present; another array whenever that changes, and none as long as no server has answered. */
  readonly models: readonly ChatModel[];
  /**
   * Completes a conversation with one of {@link models}.
   * @throws ToolgateError TOOL_FAILED, or UNAVAILABLE when the server is too busy
   */
  complete(request: ChatRequest, options: ChatOptions): Promise<ChatCompletion>;
}
