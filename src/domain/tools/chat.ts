import type { JsonObject } from "../core/json.ts";
import type { MicroUsd } from "../core/money.ts";
import type { Span } from "../core/span.ts";

/** The bytes of long texts of the params, as JSON has them between quotes, by the text in their place. */
export type AttachedTexts = ReadonlyMap<string, Uint8Array>;

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
  /** Of prompt tokens that the server wrote to its cache, at least {@link inputRate}, the default. */
  readonly cacheWriteRate?: TokenRate | undefined;
  /** Of those of them that it keeps for an hour, at least {@link cacheWriteRate}, the default. */
  readonly cacheWriteHourRate?: TokenRate | undefined;
  /** Of tokens of a completion that are reasoning. Default: {@link outputRate}. */
  readonly reasoningRate?: TokenRate | undefined;
  /** Maximum tokens of prompt and completion together. */
  readonly contextLength: number;
  /** Maximum tokens of a completion, and the default limit. */
  readonly maxOutputTokens: number;
  /** Bytes of text priced as one token; 1 is an upper bound for byte-level vocabularies. */
  readonly bytesPerToken: number;
  /** Most tokens that one image of a prompt takes; undefined: the model takes no images. */
  readonly imageTokens?: number | undefined;
  /** Largest request body with images, bytes; undefined: as of any call. */
  readonly maxBodyBytes?: number | undefined;
  /** Limits of all callers of one instance together; undefined: none. */
  readonly requestsPerMinute?: number | undefined;
  readonly concurrency?: number | undefined;
  /** Most numbers of a vector: the model makes embeddings. Undefined: it answers conversations. */
  readonly dimensions?: number | undefined;
  /** Whether its servers get members of a request that the gateway does not know. */
  readonly passesUnknown?: boolean | undefined;
  /** Whether its servers fetch URLs of a request themselves. */
  readonly passesUrls?: boolean | undefined;
  /** The API that all of its servers speak; undefined: chat completions, or several. */
  readonly api?: ServerApi | undefined;
}

/** The prices of a model's tokens. */
export type TokenRates = Pick<
  ChatModel,
  "inputRate" | "outputRate" | "cachedInputRate" | "cacheWriteRate" | "cacheWriteHourRate" | "reasoningRate"
>;

/** The API of a model server. */
export const SERVER_APIS = ["chat", "messages", "responses"] as const;
export type ServerApi = (typeof SERVER_APIS)[number];

/** A request as it came, for servers of its own API. */
export interface PassedRequest {
  readonly api: ServerApi;
  readonly body: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A name for one of several models, chosen for each call. */
export interface ModelAlias {
  readonly id: string;
  readonly models: readonly string[];
  /** The first that works, or the one with the lowest quote. */
  readonly by: "order" | "price";
}

export interface ChatRequest {
  readonly model: string;
  /** {@link ChatMessage}s, or messages of the OpenAI API. */
  readonly messages: readonly object[];
  readonly maxTokens: number;
  readonly temperature: number | undefined;
  /** Further members of the request (OpenAI API, "Create chat completion"). */
  readonly more?: JsonObject;
  /** Sent instead to servers of its API. */
  readonly passed?: PassedRequest | undefined;
}

/** What a server counts of a completion, as far as it can be read. */
export interface ReportedUsage extends Partial<ChatUsage> {
  /** Whether text came after the count, which then covers only a part of the answer. */
  readonly isBehind?: boolean;
}

export interface ChatUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly totalTokens: number;
  /** Those of the prompt that came from the server's cache, at most all; undefined if not reported. */
  readonly cachedTokens?: number | undefined;
  /** Those of the prompt that the server wrote to its cache, at most the others; undefined likewise. */
  readonly cacheWriteTokens?: number | undefined;
  /** Those of them that it keeps for an hour. */
  readonly cacheWriteHourTokens?: number | undefined;
  /** Those of the completion that are reasoning, at most all; undefined if not reported. */
  readonly reasoningTokens?: number | undefined;
  /** Whether a part of the count is an estimate of the gateway. */
  readonly isEstimated?: boolean;
  /** What the server says beside these counts. */
  readonly more?: JsonObject;
}

export function countedTokens(rates: TokenRates, usage: ChatUsage): PricedTokens[] {
  const { inputRate, outputRate, cachedInputRate = inputRate, cacheWriteRate = inputRate } = rates;
  const { cacheWriteHourRate = cacheWriteRate, reasoningRate = outputRate } = rates;
  const { promptTokens, cachedTokens: cached = 0, cacheWriteTokens: written = 0 } = usage;
  const { completionTokens, reasoningTokens: reasoning = 0, cacheWriteHourTokens: hour = 0 } = usage;
  return [
    { tokens: promptTokens - cached - written, rate: inputRate },
    { tokens: cached, rate: cachedInputRate },
    { tokens: written - hour, rate: cacheWriteRate },
    { tokens: hour, rate: cacheWriteHourRate },
    { tokens: completionTokens - reasoning, rate: outputRate },
    { tokens: reasoning, rate: reasoningRate },
  ];
}

export interface ChatCompletion {
  readonly content: string;
  /** E.g. "stop" or "length"; "timeout" after a time limit; null if the server does not say. */
  readonly finishReason: string | null;
  /** Null if the server does not count. */
  readonly usage: ReportedUsage | null;
  /** Text of all kinds. Default: the content. */
  readonly delivered?: Delivered;
  readonly whole?: WholeChoice;
  /** The answer in the API of {@link ChatRequest.passed}; undefined: it was not passed. */
  readonly passed?: JsonObject | undefined;
  /** What the server charges the operator, micro-USD; undefined: unknown. */
  readonly cost?: MicroUsd | undefined;
}

export interface Delivered {
  /** UTF-16 code units. */
  readonly characters: number;
  /** Chunks of a stream, those that no token can fill several times; undefined: it was no stream. */
  readonly chunks: number | undefined;
  /** Whether the answer broke off, or its caller left, before the server ended it. */
  readonly isCut?: boolean;
}

/** A choice of a completion (OpenAI API, "The chat completion object"). */
export interface WholeChoice {
  /** Content, refusal, reasoning, tool calls and what else the server sends. */
  readonly message: JsonObject;
  /** Undefined unless requested. */
  readonly logprobs?: JsonObject;
  /** What else the server says of the choice, and of the answer. */
  readonly choice?: JsonObject;
  readonly answer?: JsonObject;
}

export interface ChatOptions {
  readonly signal: AbortSignal;
  /** Faults count against this account first. */
  readonly accountId: string;
  /** Sent to the server. */
  readonly idempotencyKey: string | undefined;
  /** Step of the tool; undefined where nothing is traced. */
  readonly span?: Span | undefined;
  /** Reports the number of chunks received. Not called if the server does not stream. */
  readonly onChunk?: ((chunks: number) => void) | undefined;
  /** Images of the messages. */
  readonly attached?: AttachedTexts | undefined;
  /** Receives the answer while it is generated; undefined: it is only returned. */
  readonly listener?: ChatListener | undefined;
  /** Whether what was delivered uses up what the call may cost: the answer ends there. */
  readonly isUsedUp?: (delivered: Delivered, usage: ReportedUsage | undefined) => boolean;
}

export interface ChatDelta {
  /** Its `delta` (OpenAI API, "The chat completion chunk object"). */
  readonly delta: JsonObject;
  readonly logprobs: JsonObject | undefined;
  /** What is new of the other members of its choice, and of the answer. */
  readonly choice?: JsonObject;
  readonly answer?: JsonObject;
  /** The server's own event, where the request was passed. */
  readonly event?: JsonObject;
}

/** Receives an answer in parts. */
export interface ChatListener {
  /** @returns a promise that resolves when more can be taken; undefined: at once */
  take(delta: ChatDelta): Promise<void> | undefined;
  /** Aborts when nothing more can be taken: the answer ends there. */
  readonly closed: AbortSignal;
}

export interface ChatModels {
  /** Models for sale. Replaced when they change; empty until a server has answered. */
  readonly models: readonly ChatModel[];
  /** Whether a server of the model takes calls, as far as is known. Undefined: all do. */
  readonly isHealthy?: (model: string) => boolean;
  /**
   * Completes a conversation with one of {@link models}.
   * @throws ToolgateError TOOL_FAILED, or UNAVAILABLE when the server is too busy
   */
  complete(request: ChatRequest, options: ChatOptions): Promise<ChatCompletion>;
}

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
  readonly cost?: MicroUsd | undefined;
}

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

/**
 * Price of one token in billionths of a micro-USD. USD per million tokens equals micro-USD per token, so
 * published prices keep nine decimal places exactly.
 */
export type TokenRate = bigint;

const RATE_SCALE = 1_000_000_000n;
const DECIMAL_RATE = /^(\d{1,6})(?:\.(\d{1,9}))?$/;

/**
 * Parses USD per million tokens, e.g. "0.2" or "15.00": at most six digits before and nine after the point;
 * undefined if invalid.
 */
export function parseTokenRate(usdPerMillion: string): TokenRate | undefined {
  const match = DECIMAL_RATE.exec(usdPerMillion);
  if (!match) return undefined;
  return BigInt(match[1] ?? "0") * RATE_SCALE + BigInt((match[2] ?? "").padEnd(9, "0"));
}

/** Formats a rate as {@link parseTokenRate} reads it, e.g. "0.2". */
export function formatTokenRate(rate: TokenRate): string {
  const digits = (rate % RATE_SCALE).toString().padStart(9, "0").replace(/0+$/, "");
  return digits === "" ? `${rate / RATE_SCALE}` : `${rate / RATE_SCALE}.${digits}`;
}

interface PricedTokens {
  readonly tokens: number;
  readonly rate: TokenRate;
}

/** Returns the total price in micro-USD, rounded up once; at least 1. */
export function priceOfTokens(...parts: readonly PricedTokens[]): MicroUsd {
  const exact = parts.reduce((sum, part) => sum + BigInt(part.tokens) * part.rate, 0n);
  const rounded = (exact + RATE_SCALE - 1n) / RATE_SCALE;
  return rounded > 0n ? rounded : 1n;
}
